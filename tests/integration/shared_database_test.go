// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// awaitShared waits until the warning of a custom resource names the other one, or until there is none for "".
func (e *env) awaitShared(name, other string) {
	e.T.Helper()
	const warning = "is the same database and user as in the LlamaStackDistribution "
	e.Eventually(name+" is warned of "+other, func() error {
		cr := &v1alpha2.LlamaStackDistribution{}
		if err := e.Get(cr, name); err != nil {
			return err
		}
		c := meta.FindStatusCondition(cr.Status.Conditions, v1alpha2.ConditionConfigGenerated)
		want := warning + e.Name + "/" + other
		if c == nil || strings.Contains(c.Message, warning) != (other != "") || other != "" && !strings.Contains(c.Message, want) {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
}

// Proves: R95, R7 (two custom resources with one database both get a warning, and both lose it when one moves).
func TestCustomResourcesWithOneDatabaseAreWarned(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.StartOperator()
	const password = "canary-of-the-database"
	e.CreateSecret("one", map[string]string{"dsn": "postgresql://llama:" + password + "@db:5432/state"})
	e.CreateSecret("same", map[string]string{"dsn": "host=db." + e.Name + ".svc user=llama password=" + password + " dbname=state"})
	stored := func(name, secret string) {
		e.Apply(framework.Manifest(name, "distribution: {name: starter}\nstorage: {sql: {type: postgres, connectionString: {name: "+secret+", key: dsn}}}"))
		e.WaitReady(name)
	}
	stored("a", "one")
	e.awaitShared("a", "")
	stored("b", "same")
	e.awaitShared("a", "b")
	e.awaitShared("b", "a")
	d := e.Deployment("a")
	if text := fmt.Sprint(d.Annotations); strings.Contains(text, password) || strings.Contains(text, "llama:") || d.Annotations[names.AnnotationDatabases] == "" {
		t.Errorf("annotations %s", text)
	}
	generation := d.Generation
	e.patchSecret("same", `{"stringData":{"dsn":"postgresql://llama:`+password+`@db:5432/other"}}`)
	e.awaitShared("a", "")
	e.awaitShared("b", "")
	e.patchSecret("same", `{"stringData":{"dsn":"postgresql://llama:`+password+`@db:5432/state"}}`)
	e.awaitShared("a", "b")
	e.Kubectl("delete", "llsd", "b")
	e.awaitShared("a", "")
	if got := e.Deployment("a").Generation; got != generation {
		t.Errorf("the warnings changed the Deployment from generation %d to %d", generation, got)
	}
}
