// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

var ownedAllowedFrom = regexp.MustCompile(`"f:allowedFrom":\{"\.":\{\},"f:namespaces":\{\}\},?`)

// disownAllowedFrom makes a resource look as if no client had written allowedFrom in v1alpha2.
func (e *env) disownAllowedFrom(name string) {
	e.T.Helper()
	framework.Eventually(e.T, time.Minute, "allowedFrom has no owner", func() error {
		cr := e.CR(name)
		changed := false
		for i := range cr.ManagedFields {
			fields := cr.ManagedFields[i].FieldsV1
			rest := ownedAllowedFrom.ReplaceAll(fields.Raw, nil)
			changed, fields.Raw = changed || len(rest) < len(fields.Raw), rest
		}
		if !changed {
			e.T.Fatalf("managed fields %v", cr.ManagedFields)
		}
		return suite.Admin.Update(e.T.Context(), cr) //nolint:wrapcheck // only logged
	})
}

// Proves: R41, R104 (the API server's managed fields tell that a client wrote allowedFrom in v1alpha2).
func TestAllowedFromWrittenInV1alpha2MakesAPolicy(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	e.Apply(oldResource)
	e.disownAllowedFrom("old")
	op := e.StartOperator()
	e.WaitReady("old")
	e.Quiet(op)
	policy := func() error { return e.Get(&networkingv1.NetworkPolicy{}, names.NetworkPolicyName("old")) }
	if err := policy(); !apierrors.IsNotFound(err) {
		t.Errorf("written in v1alpha1 without the feature flag: reading the NetworkPolicy: %v", err)
	}
	e.PatchSpec("old", `{"networking":{"allowedFrom":{"namespaces":["a","b"]}}}`)
	framework.Eventually(t, 2*time.Minute, "the NetworkPolicy exists", func() error {
		if err := policy(); err != nil {
			return fmt.Errorf("reading it: %w", err)
		}
		return nil
	})
}
