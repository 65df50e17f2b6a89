// SPDX-License-Identifier: Apache-2.0

package imagelabels_test

import (
	"net/http"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R106 (the operator's requests to registries use the proxy of the settings).
func TestClientsUseTheProxyOfTheSettings(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
	options := imagelabels.ClientOptions(&settings.Registries{Proxy: &v1alpha2.ProxySpec{
		HTTPSProxy: new("http://proxy.example.com:3128"), NoProxy: new("own.example.com"),
	}}, "")
	for address, want := range map[string]string{
		"https://registry.example.com/v2/": "http://proxy.example.com:3128", "https://own.example.com/v2/": "",
		"https://registry.images.svc/v2/": "", "https://registry.images.svc.cluster.local/v2/": "", "https://10.96.0.1/v2/": "",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		proxy, err := options.Proxy(request)
		got := ""
		if proxy != nil {
			got = proxy.String()
		}
		if err != nil || got != want {
			t.Errorf("%s: proxy %q, %v, want %q", address, got, err, want)
		}
	}
	if imagelabels.ClientOptions(&settings.Registries{}, "").Proxy != nil {
		t.Error("without the setting, the environment does not decide")
	}
}
