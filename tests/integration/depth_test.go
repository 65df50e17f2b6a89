// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// withSettings is a CR as JSON with a value in the settings of a provider.
func withSettings(name, value string) string {
	return fmt.Sprintf(`{"apiVersion":"llamastack.io/v1alpha2","kind":"LlamaStackDistribution","metadata":{"name":%q},"spec":{"distribution":{"name":"starter"},`+
		`"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm:8000","settings":%s}}}}`, name, value)
}

func levels(n int) string { return strings.Repeat(`{"a":`, n) + "0" + strings.Repeat("}", n) }

func members(n int) string {
	b := &strings.Builder{}
	for i := range n {
		fmt.Fprintf(b, `,"k%d":0`, i)
	}
	return "{" + b.String()[1:] + "}"
}

// create sends an object as it stands, and returns what the API server complains about.
func (e *env) create(object string) error {
	path := "/apis/llamastack.io/v1alpha2/namespaces/" + e.namespace + "/llamastackdistributions"
	out, err := cluster.KubectlInput(e.t.Context(), object, "create", "--raw", path, "-f", "-")
	if err != nil {
		return errors.New(out)
	}
	return nil
}

// Proves: R63 (an object that the API server could store and never read again is rejected, whether it can ask the operator or not; what
// is deep or wide and within the bounds is accepted; what is neither does not depend on the operator).
func TestDeepObjectsAreRejectedWhereTheAPIServerCannotReadThem(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	webhook := e.startValidation()
	const around = 4 // the object, its spec, the providers, the provider
	for deep := 9_994; deep <= 10_000; deep++ {
		err := e.create(withSettings(fmt.Sprintf("deep-%d", deep), levels(deep-around)))
		t.Logf("%d levels: %.300v", deep, err)
		if err == nil || !strings.Contains(err.Error(), "at most 64 levels") && !strings.Contains(err.Error(), "exceeded max depth") {
			t.Errorf("%d levels: %.500v", deep, err)
		}
	}
	for name, value := range map[string]string{"flat": levels(3), "deep": levels(60), "wide": members(1000)} {
		if err := e.create(withSettings(name, value)); err != nil {
			t.Errorf("%s: %.500v", name, err)
		}
	}
	webhook.broken.Store(true)
	for name, c := range map[string]struct {
		value string
		want  string
	}{
		"flat-alone":   {levels(3), ""},
		"deep-alone":   {levels(60), "depth.llamastackdistributions.llamastack.io"},
		"wide-alone":   {members(1000), "depth.llamastackdistributions.llamastack.io"},
		"deepest":      {levels(9_990), "depth.llamastackdistributions.llamastack.io"},
		"deep-in-wide": {members(101)[:len(members(101))-1] + `,"x":` + levels(9_989) + "}", "depth.llamastackdistributions.llamastack.io"},
	} {
		err := e.create(withSettings(name, c.value))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.500v", name, err)
		}
	}
	var list v1alpha2.LlamaStackDistributionList
	if err := admin.List(t.Context(), &list, client.InNamespace(e.namespace)); err != nil || len(list.Items) != 4 {
		t.Errorf("%d CRs, %v", len(list.Items), err)
	}
}
