// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/leaves"
)

// unbuilt are the fields that this operator does not build yet. They fail by name, with all their fields.
var unbuilt = []string{}

// changesNothing maps the fields that alone change neither the configuration nor an object to the reason.
var changesNothing = map[string]string{
	"spec.distribution.name":    "what it resolves to is an input of Build: package settings has the test",
	"spec.distribution.image":   "as above",
	"spec.distribution.version": "as above",

	"spec.workload.rollback": "decides what follows a failed rollout: TestRollbackNeedsAFailedOnlyPod",

	"spec.storage.kv{}":  "means SQLite, which the base has: TestGolden has cases with other bases",
	"spec.storage.sql{}": "as above",
}

// incomplete are the structs that fail by name when they are empty.
var incomplete = []string{
	"spec.storage.kv.password{}", "spec.storage.kv.password.secretKeyRef{}",
	"spec.storage.kv.connectionString{}", "spec.storage.kv.connectionString.secretKeyRef{}",
	"spec.storage.sql.connectionString{}", "spec.storage.sql.connectionString.secretKeyRef{}", "spec.networking.tls.caBundle{}",
	"spec.storage.sql.password{}", "spec.storage.sql.password.secretKeyRef{}", "spec.storage.kv.caBundle{}", "spec.storage.sql.caBundle{}",
	"spec.workload.modelCache{}",
}

// onlyTold are settings that are only reported (R39) or that the release line of the inputs lacks (R25).
var onlyTold = []string{
	"spec.networking.tls.secretName", "spec.auth.tenancy", "spec.monitoring.enabled", "spec.monitoring.metricsPort",
}

// meaningful are the structs whose presence, or that of a struct within them, has a meaning (R31).
var meaningful = []string{
	"spec.storage.kv", "spec.storage.sql", "spec.workload.storage", "spec.workload.podDisruptionBudget", "spec.networking.tls.caBundle",
	"spec.workload.modelCache",
}

// isAbsent reports whether a path is an empty struct without a meaning.
func isAbsent(path string) bool {
	empty, isStruct := strings.CutSuffix(path, "{}")
	return isStruct && !slices.ContainsFunc(meaningful, func(m string) bool { return empty == m || strings.HasPrefix(empty, m+".") })
}

func isUnbuilt(path string) bool {
	path = strings.TrimSuffix(path, "{}")
	return slices.ContainsFunc(unbuilt, func(u string) bool { return path == u || strings.HasPrefix(path, u+".") })
}

// Proves: R49, L-10, R31 (a field has an effect, fails by name, is reported, or is listed above; absent fields change
// nothing).
func TestNoFieldIsIgnored(t *testing.T) {
	for path, setAlone := range leaves.All(t) {
		t.Run(path, func(t *testing.T) {
			around := leaves.Surround(path)
			set := func(spec *v1alpha2.LlamaStackDistributionSpec) { around(spec); setAlone(spec) }
			before := output(t, around)
			in := found(t, set)
			d, faults := buildWith(t.Context(), in)
			_, excused := changesNothing[path]
			switch {
			case isAbsent(path) || excused:
				if len(faults) > 0 || output(t, set) != before {
					t.Errorf("means nothing, and fails or changes something: %s", faults.Message())
				}
			case isUnbuilt(path):
				checkRefused(t, path, faults)
			case slices.Contains(incomplete, path):
				if !strings.Contains(faults.Message(), strings.TrimSuffix(path, "{}")) {
					t.Errorf("is empty, and that is not told: %s", faults.Message())
				}
			case slices.Contains(onlyTold, path):
				if !hasWarning(d, path) && !mentions(faults, path) {
					t.Error("is silently ignored: a warning must name it")
				}
			case len(faults) > 0:
				t.Errorf("is built, and fails: %s", faults.Message())
			case output(t, set) == before:
				t.Error("is silently ignored: neither the configuration nor an object changes")
			}
		})
	}
}

func checkRefused(t *testing.T, path string, faults problem.List) {
	t.Helper()
	var unsupported problem.List
	for _, f := range faults {
		if f.Reason == problem.UnsupportedByOperator {
			unsupported = append(unsupported, f)
		}
	}
	if !mentions(unsupported, path) {
		t.Errorf("is neither built nor refused by name: %s", faults.Message())
	}
	if unsupported.Has(problem.WaitingForDependency) || unsupported.Has(problem.Transient) || len(unsupported.For(v1alpha2.ConditionConfigGenerated)) == 0 {
		t.Errorf("faults %+v: want class Wrong and condition ConfigGenerated", unsupported)
	}
}

// output returns the result of Build for a spec with a generated configuration, without the hash of the spec.
func output(t *testing.T, set func(*v1alpha2.LlamaStackDistributionSpec)) string {
	t.Helper()
	in := found(t, set)
	if in.CR.Spec.Providers == nil {
		in.CR.Spec.Providers = &v1alpha2.ProvidersSpec{}
	}
	if in.CR.Spec.Providers.Inference == nil {
		in.CR.Spec.Providers.Inference = &apiextensionsv1.JSON{Raw: []byte(`{"provider":"openai"}`)}
	}
	d, _ := buildWith(t.Context(), in)
	for _, o := range d.Objects {
		delete(o.GetAnnotations(), names.AnnotationInputHash)
	}
	text, err := json.Marshal(d.Objects)
	framework.NoError(t, err)
	uses, _ := serverconfig.SecretUses(in.Spec)
	return fmt.Sprintf("%s %v", text, uses)
}

// found returns inputs for a spec with all referenced objects.
func found(t *testing.T, set func(*v1alpha2.LlamaStackDistributionSpec)) *Inputs {
	t.Helper()
	in := inputs(t, "distribution-only")
	set(&in.CR.Spec)
	refreshPods(in)
	uses, _ := serverconfig.SecretUses(in.Spec)
	for _, use := range uses {
		value := canary
		if strings.HasSuffix(use.Path, ".connectionString") {
			value = "postgresql://user:" + canary + "@db.example/stack"
		}
		in.Secrets = append(in.Secrets, SecretFact{Use: use, Value: secret.New([]byte(value))})
	}
	if _, ok := in.OverrideRef(); ok {
		findOverride(t, in, ownConfig)
	}
	if in.CABundle = in.NamedCABundle(); in.CABundle != nil && in.CABundle.Name != "" {
		in.CABundle.Data = map[string]string{"ca.crt": certificate}
	}
	in.CABundles = in.AllCABundles()
	for i := range in.CABundles {
		if in.CABundles[i].Name != "" {
			in.CABundles[i].Data = map[string]string{"ca-bundle.crt": certificate}
		}
	}
	if in.Certificate = CertificateOf(in.CR); in.Certificate != nil {
		in.Certificate.State = Unknown
	}
	return in
}

// mentions reports whether a problem names the field or a parent of it.
func mentions(faults problem.List, path string) bool {
	return slices.ContainsFunc(faults, func(f problem.Problem) bool { return within(path, f.String()) })
}

func hasWarning(d *result, path string) bool {
	for _, w := range d.Warnings {
		if within(path, w.String()) {
			return true
		}
	}
	return false
}

func within(path, message string) bool {
	named, _, _ := strings.Cut(message, ":")
	path = strings.TrimSuffix(path, "{}")
	return strings.Count(named, ".") > 0 && (path == named || strings.HasPrefix(path, named+"."))
}

// Proves: R48, FR-026.
func TestInputHashCoversTheSpec(t *testing.T) {
	seen := map[string]string{}
	all := leaves.All(t)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		in := inputs(t, "distribution-only")
		in.CR.Spec = v1alpha2.LlamaStackDistributionSpec{}
		all[path](&in.CR.Spec)
		hash := hashOf(in)
		if other, ok := seen[hash]; ok && !strings.HasSuffix(path, "{}") && !strings.HasSuffix(other, "{}") {
			t.Errorf("%s and %s have the same hash", path, other)
		}
		seen[hash] = path
	}
}
