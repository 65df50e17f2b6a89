// SPDX-License-Identifier: Apache-2.0

package build

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R95 (the stores are those of the configuration that the server reads in each case).
func TestRemoteStoresOfEachConfiguration(t *testing.T) {
	const config = "version: 2\nstorage:\n  backends: {b: {type: kv_redis, host: redis}}\n  stores: {prompts: {backend: b, namespace: p}}\n"
	base, err := serverconfig.ParseBase("mine", []byte(config))
	framework.NoError(t, err)
	generated := &serverconfig.Result{RemoteStores: []serverconfig.RemoteStore{{Name: "generated"}}}
	for name, c := range map[string]struct {
		desired Desired
		want    string
	}{
		"generated":        {Desired{Config: generated, Distribution: &settings.Distribution{Base: base}}, "generated"},
		"of the image":     {Desired{Distribution: &settings.Distribution{Base: base}}, "prompts"},
		"an override":      {Desired{Override: &serverconfig.Override{}, OverrideContent: []byte(config)}, "prompts"},
		"an unread file":   {Desired{Override: &serverconfig.Override{}, OverrideContent: []byte(secret.OnCluster)}, ""},
		"an unknown image": {Desired{Distribution: &settings.Distribution{}}, ""},
	} {
		got := ""
		for _, store := range c.desired.remoteStores() {
			got += store.Name
		}
		if got != c.want {
			t.Errorf("%s: stores %q, want %q", name, got, c.want)
		}
	}
}
