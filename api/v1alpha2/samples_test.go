// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

const fullSample = "v1alpha2-full.yaml"

// notInFullSample maps fields that the full sample cannot have, with all below them, to the reason.
var notInFullSample = map[string]string{
	"spec.distribution.image":                        "excludes name",
	"spec.externalProviders":                         "its packages are in images: the sample would not boot in tests",
	"spec.networking.expose":                         "with allowedFrom, only an administrator knows the namespace of the ingress controller",
	"spec.overrideConfig":                            "excludes providers",
	"spec.providers.safety":                          "release lines with monitoring and tenancy do not have it",
	"spec.resources.defaults.shield":                 "release lines with monitoring and tenancy do not have it",
	"spec.resources.shields":                         "release lines with monitoring and tenancy do not have it",
	"spec.storage.kv":                                "excludes backends",
	"spec.storage.sql":                               "excludes backends",
	"spec.workload.modelCache.claimName":             "excludes image",
	"spec.workload.overrides.envFrom":                "may set NO_PROXY, which the operator then leaves out",
	"spec.workload.overrides.args":                   "would replace arguments that the server needs to start",
	"spec.workload.overrides.command":                "would replace the program",
	"spec.workload.podDisruptionBudget.minAvailable": "excludes maxUnavailable",
	"spec.workload.storage.claimName":                "excludes the fields of a new PVC",
}

// inNoSample maps fields that no sample has to the page that shows them.
var inNoSample = map[string]string{
	"spec.resources.defaults.shield":         "docs/configuration-resources.md: release line 0.3 has shields, and no default",
	"spec.storage.sql.password.secretKeyRef": "the other form of a reference, as in v1alpha2-redis.yaml",
	"spec.workload.overrides.args":           "docs/workload.md: they depend on the image",
	"spec.workload.overrides.command":        "docs/workload.md: it depends on the image",
}

// has reports whether the tree has a value at a path of testdata/fields.txt.
func has(tree any, path []string) bool {
	if list, ok := tree.([]any); ok {
		return slices.ContainsFunc(list, func(item any) bool { return has(item, path) })
	}
	if len(path) == 0 {
		return tree != nil
	}
	object, _ := tree.(map[string]any)
	value, found := object[strings.TrimSuffix(path[0], "[]")]
	return found && (len(path) == 1 || has(value, path[1:]))
}

// covers reports whether the list has the field, or one that it is below, and returns that.
func covers(list map[string]string, field string) (string, bool) {
	for entry := range list {
		if field == entry || strings.HasPrefix(field, entry+".") || strings.HasPrefix(field, entry+"[]") {
			return entry, true
		}
	}
	return "", false
}

// Proves: SMP-FULL, R72 (every field of the spec is in the full sample, or in another one, and then has a reason).
func TestSamplesUseEveryField(t *testing.T) {
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var tree map[string]any
			if err := yaml.Unmarshal([]byte(document), &tree); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if tree["apiVersion"] == GroupVersion.String() {
				samples[filepath.Base(file)] = tree
			}
		}
	}
	reasons, excuses := map[string]bool{}, map[string]bool{}
	for _, row := range listed(t, "testdata/fields.txt") {
		field, _, _ := strings.Cut(row, " ")
		if !strings.HasPrefix(field, "spec.") {
			continue
		}
		path := strings.Split(field, ".")
		var with []string
		for _, name := range slices.Sorted(maps.Keys(samples)) {
			if has(samples[name], path) {
				with = append(with, name)
			}
		}
		full := slices.Contains(with, fullSample)
		reason, excused := covers(notInFullSample, field)
		page, nowhere := covers(inNoSample, field)
		reasons[reason], excuses[page] = true, excuses[page] || nowhere
		switch {
		case full && excused:
			t.Errorf("%s has %s, which is in the list of those that it cannot have", fullSample, field)
		case !full && !excused:
			t.Errorf("%s does not have %s: add it, or its reason to notInFullSample", fullSample, field)
		case len(with) == 0 && !nowhere:
			t.Errorf("no sample has %s", field)
		case len(with) > 0 && nowhere:
			t.Errorf("%v have %s, which is in the list of those that no sample has", with, field)
		}
	}
	for field := range notInFullSample {
		if !reasons[field] {
			t.Errorf("there is no field %s", field)
		}
	}
	for field := range inNoSample {
		if !excuses[field] {
			t.Errorf("there is no field %s that no sample has", field)
		}
	}
}
