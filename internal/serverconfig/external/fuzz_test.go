// SPDX-License-Identifier: Apache-2.0

package external_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/external"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

var (
	fuzzedModule = regexp.MustCompile(`^[A-Za-z0-9_.]+$`)
	fuzzedType   = regexp.MustCompile(`^(remote|inline)::[A-Za-z0-9._-]+$`)
)

// FuzzReadPackage parses arbitrary package descriptions of provider images.
//
// Proves: R63, R46 (no panic; plain names; wheels in the package's directory; bounded messages).
func FuzzReadPackage(f *testing.F) {
	const begin = "apiVersion: llamastack.io/v1alpha1\nkind: ProviderPackage\nmetadata: {name: n, version: '1', vendor: v}\nspec:\n"
	for _, seed := range []string{
		begin + "  packageName: a.b\n  providerType: remote::a\n  api: inference\n  wheelPath: /lls-provider/packages/a.whl\n",
		begin + "  packageName: a\n  providerType: inline::a\n  api: safety\n  wheelPath: a.whl\n  dependencyWheels: [b.whl, ../c.whl]\n  configFields: {endpoint: url, apiKey: key}\n",
		begin + "  packageName: 'a; import os'\n  providerType: remote::${env.A}\n  api: '!'\n  wheelPath: /etc/passwd\n", "a: &a [*a]", "- 1", "", "{", "? [a]\n: b", begin,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := external.ReadPackage(text)
		if err != nil {
			if p != nil || len(err.Error()) > limits.MessageBytes {
				t.Errorf("%v beside an error of %d bytes", p, len(err.Error()))
			}
			return
		}
		if !fuzzedModule.MatchString(p.PackageName) || !fuzzedType.MatchString(p.ProviderType) || len(p.Wheels) == 0 || len(p.Wheels) > limits.ProviderWheels {
			t.Errorf("%+v", p)
		}
		for _, wheel := range p.Wheels {
			if !strings.HasPrefix(wheel, parse.PackageDir+"/") || path.Clean(wheel) != wheel || len(wheel) > limits.WheelPathBytes {
				t.Errorf("wheel %q", wheel)
			}
		}
	})
}
