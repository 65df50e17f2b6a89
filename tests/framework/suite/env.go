// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Env is a namespace of the shared control plane, with a fake kubelet and a server double.
type Env struct {
	framework.Namespace
	// OperatorNamespace is the namespace with the operator's settings.
	OperatorNamespace string
	Server            *httptest.Server
	Kubelet           *framework.FakeKubelet
}

// NewEnv creates a namespace for the test.
func NewEnv(t testing.TB) *Env {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "t-", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "restricted",
	}}}
	framework.NoError(t, Admin.Create(t.Context(), ns))
	return &Env{
		Kubelet:           framework.StartFakeKubelet(t, Admin, ns.Name),
		Namespace:         framework.Namespace{T: t, Cluster: Cluster, Client: Admin, Name: ns.Name},
		OperatorNamespace: framework.OperatorNamespace, Server: serverDouble(t),
	}
}

// VLLMProvider is a part of a spec.
const VLLMProvider = "providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}"

// ServerRelease is the release of the built-in distributions if the spec asks for no field that it lacks.
var ServerRelease = distributions.All()[0].Newest().Version

// serverDouble answers the operator's requests as a server of ServerRelease does.
func serverDouble(t testing.TB) *httptest.Server {
	mux := http.NewServeMux()
	line, _ := catalog.Get(catalog.Newest())
	connectors, _, _ := strings.Cut(line.Lists["connectors"], "?")
	for path, answer := range map[string]string{
		"GET /v1/version": `{"version":"` + ServerRelease + `"}`,
		"GET /v1/providers": `{"data":[{"api":"inference","provider_id":"vllm","provider_type":"remote::vllm",
			"config":{"api_token":"********"},"health":{"status":"Not Implemented"}}]}`,
		"GET /v1/models":    `{"data":[{"id":"vllm/llama3","custom_metadata":{"provider_id":"vllm"}}]}`,
		"GET " + connectors: `{"data":[{"connector_id":"of-the-base","connector_type":"mcp","url":"http://mcp"}]}`,
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) })
	}
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server
}

// MakeSettings creates the operator's settings with one key. They are removed by the returned function or when the test
// ends.
func (e *Env) MakeSettings(key, value string) (remove func()) {
	e.T.Helper()
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.OperatorNamespace, Name: settings.ConfigMapName},
		Data:       map[string]string{key: value},
	}
	framework.NoError(e.T, Admin.Create(e.T.Context(), cm))
	remove = sync.OnceFunc(func() { _ = Admin.Delete(context.Background(), cm) })
	e.T.Cleanup(remove)
	return remove
}

// Register registers a distribution until the test ends.
func (e *Env) Register(name string, data map[string]string) *corev1.ConfigMap {
	e.T.Helper()
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.OperatorNamespace, Name: name, Labels: map[string]string{settings.LabelDistribution: name}}, Data: data,
	}
	framework.NoError(e.T, Admin.Create(e.T.Context(), cm))
	e.T.Cleanup(func() { _ = Admin.Delete(context.Background(), cm) })
	return cm
}

// PatchSpec merges a patch into the spec of the custom resource.
func (e *Env) PatchSpec(name, spec string) {
	e.T.Helper()
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: e.Name, Name: name}}
	framework.NoError(e.T, Admin.Patch(e.T.Context(), cr, client.RawPatch(types.MergePatchType, []byte(`{"spec":`+spec+`}`))))
}
