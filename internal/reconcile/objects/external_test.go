// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

func withExternal(p *objects.Params) {
	p.OperatorImage = "registry.example/operator:1"
	p.External = []objects.ExternalProvider{
		{ID: "second-first", Image: "registry.example/second:1", Module: "second", Wheels: []string{"/lls-provider/packages/a.whl"}},
		{ID: "a-last", Image: "registry.example/first:1", PullPolicy: corev1.PullAlways},
	}
}

// Proves: R46, R48 (the order is that of the spec, the last step adapts to the server's image, and other pods get
// nothing).
func TestExternalProvidersAreInstalledBeforeTheServer(t *testing.T) {
	const dir = "/opt/llama-stack/external-providers"
	p := with(t, withExternal)
	var got []string
	for _, c := range pod(p).InitContainers {
		if c.Name == "check-providers" {
			c.Command[2] = "SCRIPT"
		}
		got = append(got, c.Name+" "+c.Image+" "+string(c.ImagePullPolicy)+": "+strings.Join(c.Command, " "))
		if at := mount(&c, dir); at == nil || at.ReadOnly || len(c.Env)+len(c.EnvFrom) > 0 {
			t.Errorf("container %s has %+v and the environment %+v, want the shared directory alone", c.Name, c.VolumeMounts, c.Env)
		}
		// A runtime recreates /dev without symbolic links, and omits an image volume where the pod mounts one.
		program := mount(&c, "/dev/llama-stack")
		if foreign := strings.HasPrefix(c.Name, "install-provider-"); foreign != (program != nil) || len(c.VolumeMounts) > 2 ||
			foreign && (!program.ReadOnly || program.SubPath != "bin" || program.Name != mount(&c, dir).Name || path.Dir(c.Command[0]) != program.MountPath) {
			t.Errorf("container %s runs %s with %+v", c.Name, c.Command[0], c.VolumeMounts)
		}
		if c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem || c.TerminationMessagePolicy != "FallbackToLogsOnError" {
			t.Errorf("container %s: %+v", c.Name, c)
		}
		if c.Resources.Limits.Memory().IsZero() || c.Resources.Limits.Cpu().IsZero() {
			t.Errorf("container %s has no bounds: %+v", c.Name, c.Resources)
		}
	}
	want := []string{
		"prepare-providers registry.example/operator:1 : /provider-installer prepare " + dir,
		"install-provider-second-first registry.example/second:1 : /dev/llama-stack/provider-installer install --provider second-first --module second " +
			"--wheel /lls-provider/packages/a.whl " + dir,
		"install-provider-a-last registry.example/first:1 Always: /dev/llama-stack/provider-installer install --provider a-last " + dir,
		"check-providers registry.example/distribution-starter:0.7.1 : python3 -c SCRIPT " + dir,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	at := mount(server(t, p), dir)
	if at == nil || !at.ReadOnly || volume(pod(p), at.Name).EmptyDir.SizeLimit.String() != "2Gi" {
		t.Errorf("mount %+v", at)
	}
	if value := variables(t, p)["PYTHONPATH"]; !strings.HasPrefix(value, dir+"/python-packages:"+dir+"/image-path/0:") {
		t.Errorf("PYTHONPATH=%s", value)
	}
	plain := simple(t)
	if len(pod(plain).InitContainers) > 0 || variables(t, plain)["PYTHONPATH"] != "" || mount(server(t, plain), dir) != nil {
		t.Error("a pod without external providers has a part of them")
	}
}

// A quota may require limits, and they keep the pod's quality of service.
func TestInstallersHaveTheUsersLimits(t *testing.T) {
	p := with(t, withExternal)
	limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("3Gi")}
	p.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Resources: &corev1.ResourceRequirements{Limits: limits}}
	for _, c := range pod(p).InitContainers {
		if c.Resources.Limits.Memory().String() != "3Gi" || c.Resources.Requests.Memory().String() != "1Gi" || c.Resources.Limits.Cpu().String() != "1" {
			t.Errorf("container %s: %+v", c.Name, c.Resources)
		}
	}
}

// Proves: R44 (another value would hide the packages from the server).
func TestPythonPathIsTheOperators(t *testing.T) {
	p := with(t, withExternal)
	p.CR.Spec.Workload = &v1alpha2.WorkloadSpec{Overrides: &v1alpha2.WorkloadOverrides{Env: []corev1.EnvVar{{Name: "PYTHONPATH", Value: "/mine"}}}}
	want := []objects.Conflict{{Path: "spec.workload.overrides.env[0]", Description: "the variable PYTHONPATH", Essential: true}}
	if diff := cmp.Diff(want, objects.Conflicts(p)); diff != "" {
		t.Error(diff)
	}
	p.External = nil
	if clashes := objects.Conflicts(p); len(clashes) > 0 {
		t.Errorf("without external providers: %+v", clashes)
	}
}
