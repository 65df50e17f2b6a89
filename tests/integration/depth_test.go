// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
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

// veryDeep is more than anyone accepts, and little work for the API server: with the square of the levels, it computes whose fields they are. Package
// hostile sends what is as deep as it reads.
const veryDeep = 1_000

// create sends an object as it stands, and returns why the API server does not accept it.
func (e *env) create(object string) error {
	out, err := cluster.KubectlInput(e.t.Context(), object, "create", "--raw", "/apis/llamastack.io/v1alpha2/namespaces/"+e.namespace+"/llamastackdistributions", "-f", "-")
	if err != nil {
		return errors.New(regexp.MustCompile(`(?m)^Warning: .*\n`).ReplaceAllString(out, ""))
	}
	return nil
}

// Proves: R63 (an object that the API server could store and never read again is rejected, whether it can ask the operator or not; what
// is deep or wide and within the bounds is accepted; what is neither does not depend on the operator).
func TestDeepObjectsAreRejectedWhereTheAPIServerCannotReadThem(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	webhook := e.startValidation()
	for _, deep := range []int{65, veryDeep} {
		if err := e.create(withSettings(fmt.Sprintf("deep-%d", deep), levels(deep))); err == nil || !strings.Contains(err.Error(), "at most 64 levels") {
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
		"very-deep":    {levels(veryDeep), "depth.llamastackdistributions.llamastack.io"},
		"deep-in-wide": {members(101)[:len(members(101))-1] + `,"x":` + levels(veryDeep) + "}", "depth.llamastackdistributions.llamastack.io"},
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

// Proves: R63, L-34 (where the operator has no webhooks, the policy of the administrator's overlay rejects an object that no client could list; what
// is as large as a spec may be, and neither deep nor wide, is accepted).
func TestDeepObjectsAreRejectedWithoutWebhooks(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.applyDepthPolicy()
	const refused = "may nest at most 12 levels"
	fixture.Eventually(t, time.Minute, "the policy is in force", func() error {
		if err := e.create(withSettings("probe", levels(12))); err == nil {
			_ = admin.Delete(t.Context(), &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "probe"}})
			return errors.New("a deep object is accepted")
		}
		return nil
	})
	for name, c := range map[string]struct{ object, want string }{
		"deepest that is taken": {withSettings("deep", levels(10)), ""},
		"widest that is taken":  {withSettings("wide", members(100)), ""},
		"as large as may be":    {largest("largest"), ""},
		"one level more":        {withSettings("deeper", levels(11)), refused},
		"one field more":        {withSettings("wider", members(101)), refused},
		"hidden in what is wide": {
			withSettings("hidden", members(101)[:len(members(101))-1]+`,"x":`+levels(veryDeep)+"}"), refused,
		},
	} {
		err := e.create(c.object)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.700v", name, err)
		}
	}
	var list v1alpha2.LlamaStackDistributionList
	if err := admin.List(t.Context(), &list, client.InNamespace(e.namespace)); err != nil || len(list.Items) != 3 {
		t.Errorf("%d CRs, %v", len(list.Items), err)
	}
}

// applyDepthPolicy applies the policy of the overlay, for the namespace of the test alone.
func (e *env) applyDepthPolicy() {
	e.t.Helper()
	policy, err := fixture.DepthPolicy(e.namespace)
	if err != nil {
		e.t.Fatal(err)
	}
	if out, err := cluster.KubectlInput(e.t.Context(), policy, "apply", "-f", "-"); err != nil {
		e.t.Fatal(out, err)
	}
	e.t.Cleanup(func() {
		if out, err := cluster.KubectlInput(context.WithoutCancel(e.t.Context()), policy, "delete", "-f", "-"); err != nil {
			e.t.Error(out, err)
		}
	})
}

// largest has as many providers, models and tools as may be.
func largest(name string) string {
	list := func(count int, item string) string {
		items := make([]string, count)
		for i := range items {
			items[i] = strings.ReplaceAll(item, "#", strconv.Itoa(i))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return fmt.Sprintf(`{"apiVersion":"llamastack.io/v1alpha2","kind":"LlamaStackDistribution","metadata":{"name":%q},"spec":{"distribution":{"name":"starter"},`+
		`"providers":{"inference":%s},"resources":{"models":%s,"tools":%s}}}`, name,
		list(bounds.ProvidersPerAPI, `{"id":"p#","provider":"vllm","endpoint":"http://a","settings":{"a":{"b":"c"}}}`),
		list(bounds.Models, `{"name":"m#","provider":"p1","metadata":{"a":"b"}}`), list(bounds.Tools, `{"name":"mcp::s#","endpoint":"http://a/mcp"}`))
}
