// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

func ofSecret(name string) corev1.VolumeSource {
	return corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}
}

func ofConfigMap(name string) corev1.VolumeSource {
	return corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

// volumes returns a custom resource with these objects as volumes.
func volumes(source func(name string) corev1.VolumeSource, names ...string) *v1alpha2.LlamaStackDistribution {
	cr := resource()
	cr.Spec.Providers = nil
	cr.Spec.Workload = &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{}}
	for n, name := range names {
		cr.Spec.Workload.Overrides.Volumes = append(cr.Spec.Workload.Overrides.Volumes, corev1.Volume{Name: fmt.Sprint("v", n), VolumeSource: source(name)})
	}
	return cr
}

// Proves: R63, R65 (reading stops at the bound, and the message names the field).
func TestReferencedObjectsHaveABoundInBytes(t *testing.T) {
	const size, many = 900_000, 30
	large := strings.Repeat("a", size)
	var objects []client.Object
	var names []string
	for n := range many {
		name := fmt.Sprint("large-", n)
		names = append(names, name)
		objects = append(objects, newSecret(name, map[string]string{"k": large}), &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name}, Data: map[string]string{"k": large},
		})
	}
	keys := newSecret("keys", nil)
	for n := range 50_000 {
		keys.Data[fmt.Sprintf("a-key-of-this-secret-%d", n)] = nil
	}
	objects = append(objects, keys)
	providers := func(secret, key string) *v1alpha2.LlamaStackDistribution {
		cr := resource()
		var list []string
		for n := range many {
			named := secret
			if named == "" {
				named = names[n]
			}
			list = append(list, fmt.Sprintf(`{"id":"p%02d","provider":"vllm","endpoint":"http://a:8000","apiKey":{"name":%q,"key":%q}}`, n, named, strings.ReplaceAll(key, "#", fmt.Sprint(n))))
		}
		cr.Spec.Providers.Inference = &apiextensionsv1.JSON{Raw: []byte("[" + strings.Join(list, ",") + "]")}
		return cr
	}
	one := make([]string, many)
	for n := range one {
		one[n] = names[0]
	}
	absent := volumes(ofSecret)
	for n := range 200 {
		absent.Spec.Workload.Overrides.Env = append(absent.Spec.Workload.Overrides.Env, corev1.EnvVar{Name: fmt.Sprint("A", n), ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "keys"}, Key: fmt.Sprint("absent-", n)},
		}})
	}
	for name, c := range map[string]struct {
		cr    *v1alpha2.LlamaStackDistribution
		path  string // first field over the bound; empty if all fit
		reads int
	}{
		"some ConfigMaps":                   {volumes(ofConfigMap, names[:8]...), "", 8},
		"many ConfigMaps":                   {volumes(ofConfigMap, names...), "spec.workload.overrides.volumes[9].configMap", 10},
		"many Secrets":                      {volumes(ofSecret, names...), "spec.workload.overrides.volumes[9].secret", 10},
		"one ConfigMap many times":          {volumes(ofConfigMap, one...), "spec.workload.overrides.volumes[9].configMap", 1},
		"one Secret many times":             {volumes(ofSecret, one...), "spec.workload.overrides.volumes[9].secret", 1},
		"many Secrets of providers":         {providers("", "k"), "spec.providers.inference[9].apiKey", 10},
		"one Secret of many providers":      {providers(names[0], "k"), "spec.providers.inference[9].apiKey", 1},
		"names of keys, for providers":      {providers("keys", "absent-#"), "spec.providers.inference[6].apiKey", 1},
		"names of keys, for variables":      {absent, "spec.workload.overrides.env[6].valueFrom.secretKeyRef", 1},
		"some Secrets, and one of no limit": {volumes(ofSecret, append([]string{"gone"}, names[:8]...)...), "", 9},
	} {
		cluster := newCluster(t, objects...)
		_, problems := newGatherer(cluster, cluster).Gather(t.Context(), c.cr)
		reads := 0
		for what, n := range cluster.reads {
			if kind, called, _ := strings.Cut(what, "/"); called != "llama-stack-operator-config" && (kind == "Secret" || kind == "ConfigMap") {
				reads += n
			}
		}
		if reads != c.reads {
			t.Errorf("%s: %d objects are read, want %d", name, reads, c.reads)
		}
		errs := problems.Errors()
		if c.path == "" && len(errs) > 0 {
			t.Errorf("%s: %s", name, errs.Message())
		}
		if c.path != "" && (len(errs) == 0 || errs[0].Reason != problem.TooLarge || errs[0].Class != problem.Terminal || errs[0].Path != c.path ||
			!strings.Contains(errs.Message(), "more than 8388608 bytes in total")) {
			t.Errorf("%s: %.1000s, want a problem at %s", name, errs.Message(), c.path)
		}
	}
}
