// SPDX-License-Identifier: Apache-2.0

package leaves

import (
	"cmp"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// openJSON has the values of fields with any JSON, by path.
var openJSON = map[string]string{
	"spec.networking.expose":                 `true`,
	"spec.networking.egress.to":              `{"to":[{"ipBlock":{"cidr":"192.0.2.0/24"}}]}`,
	"spec.externalProviders":                 `{"inference":[{"providerId":"x","image":"registry.example/x:1","package":{"packageName":"x","providerType":"remote::x"}}]}`,
	"spec.providers.inference":               `{"provider":"vllm","endpoint":"http://x:8000"}`,
	"spec.providers.safety":                  `{"id":"x","provider":"code-scanner"}`,
	"spec.providers.vectorIo":                `{"provider":"qdrant","endpoint":"http://x:6333"}`,
	"spec.providers.toolRuntime":             `{"provider":"wolfram-alpha"}`,
	"spec.providers.files":                   `{"provider":"s3","settings":{"bucket_name":"x"}}`,
	"spec.providers.telemetry":               `{"provider":"opentelemetry","endpoint":"http://x:4318"}`,
	"spec.auth.settings":                     `{"endpoint":"http://x"}`,
	"spec.auth.secretRefs":                   `{"endpoint":{"name":"x","key":"y"}}`,
	"spec.auth.accessPolicy":                 `{"permit":{"actions":"read"}}`,
	"spec.auth.routePolicy":                  `{"permit":{"paths":"*"}}`,
	"spec.auth.tenancy":                      `{"mode":"single","default_tenant_id":"x"}`,
	"spec.resources.models":                  `{"name":"x","provider":"openai"}`,
	"spec.resources.tools":                   `{"name":"mcp::x","endpoint":"http://x:8000/mcp"}`,
	"spec.workload.autoscaling.metrics":      `{"type":"Resource","resource":{"name":"memory","target":{"type":"AverageValue","averageValue":"1Gi"}}}`,
	"spec.workload.autoscaling.behavior":     `{"scaleDown":{"stabilizationWindowSeconds":60}}`,
	"spec.workload.overrides.sidecars":       `{"name":"x","image":"registry.example/x:1"}`,
	"spec.workload.overrides.initContainers": `{"name":"x","image":"registry.example/x:1","restartPolicy":"Always"}`,
	"spec.storage.stores":                    `{"backend":"mine"}`,
	"spec.resources.shields":                 `"code-scanner"`,
}

// texts has the values of strings that cannot be "x", by path.
var texts = map[string]string{
	"spec.networking.egress.mode": "Providers", "spec.auth.provider": "kubernetes", "spec.disabled": "eval", "spec.workload.storage.mountPath": "/x",
	"spec.workload.rollback": "Never", "spec.workload.storage.accessModes": "ReadWriteMany", "spec.workload.storage.whenDeleted": "Retain",
	"spec.resources.defaults.embeddingModel": "openai/y", "spec.resources.defaults.shield": "code-scanner",
	"spec.storage.kv.type": "redis", "spec.storage.kv.endpoint": "x:6379", "spec.storage.sql.type": "postgres",
	"spec.networking.proxy.httpProxy": "http://proxy:3128", "spec.networking.proxy.httpsProxy": "http://proxy:3128",
	"spec.storage.kv.sslMode": "require", "spec.storage.sql.sslMode": "require",
}

// byType has the values of other fields, by Go type.
var byType = values(
	corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}, Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
	},
	map[string]string{"example.com/x": "y"},
	corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}},
	[]corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	[]corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("gpu")}},
	[]corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "x"}}}},
	[]corev1.LocalObjectReference{{Name: "x"}},
	metav1.LabelSelector{MatchLabels: map[string]string{"example.com/x": "y"}},
	[]v1alpha2.CABundleKeys{{ConfigMapName: "x", Keys: []string{"ca-bundle.crt"}}},
	[]v1alpha2.VectorStore{{Name: "x", EmbeddingModel: "y"}},
	map[string]v1alpha2.StorageBackend{"kv_default": {Type: "kv_sqlite"}},
	resource.MustParse("3Gi"),
	intstr.FromInt32(1),
	[]corev1.EnvVar{{Name: "X", Value: "x"}},
	[]corev1.Volume{{Name: "x", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
	[]corev1.VolumeMount{{Name: "lls-storage", MountPath: "/x"}},
	[]corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: "x", WhenUnsatisfiable: corev1.DoNotSchedule}},
	true, int32(5000), int64(60),
)

func values(list ...any) map[reflect.Type]reflect.Value {
	found := map[reflect.Type]reflect.Value{}
	for _, value := range list {
		found[reflect.TypeOf(value)] = reflect.ValueOf(value)
	}
	return found
}

// example returns a valid value of a field, or false if there is none.
func example(path string, typ reflect.Type) (reflect.Value, bool) {
	if value, ok := byType[typ]; ok {
		return value, true
	}
	text := cmp.Or(texts[path], "x")
	switch {
	case typ == reflect.TypeFor[map[string]apiextensionsv1.JSON]():
		name := path[strings.LastIndex(path, ".")+1:]
		if path == "spec.storage.stores" {
			name = "inference"
		}
		return reflect.ValueOf(map[string]apiextensionsv1.JSON{name: {Raw: []byte(openJSON[path])}}), openJSON[path] != ""
	case typ == reflect.TypeFor[apiextensionsv1.JSON]():
		return reflect.ValueOf(apiextensionsv1.JSON{Raw: []byte(openJSON[path])}), openJSON[path] != ""
	case typ == reflect.TypeFor[[]apiextensionsv1.JSON]():
		return reflect.ValueOf([]apiextensionsv1.JSON{{Raw: []byte(openJSON[path])}}), openJSON[path] != ""
	case typ.Kind() == reflect.String:
		return reflect.ValueOf(text).Convert(typ), true
	case typ.Kind() == reflect.Slice && typ.Elem().Kind() == reflect.String:
		list := reflect.MakeSlice(typ, 1, 1)
		list.Index(0).SetString(text)
		return list, true
	}
	return reflect.Value{}, false
}
