// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// Proves: FR-075, R16.
func TestMissingAPIReportsReleaseLinesAndAlternative(t *testing.T) {
	found := map[string]bool{}
	for _, name := range catalog.Lines() {
		line, _ := catalog.Get(name)
		for _, api := range append(catalog.KnownAPIs(), "nonsense") {
			absence, absent := line.Absent(api)
			if !absent && api != "nonsense" {
				continue
			}
			p := release.MissingAPI(line, api, "spec.x")
			wantDetail, wantFix := "release line "+name+" has no API "+api, "remove it"
			switch {
			case absence.RemovedIn != "":
				wantDetail += ", which was removed in " + absence.RemovedIn
				found["gone"] = true
			case absence.AddedIn != "":
				wantDetail += ", which was added in " + absence.AddedIn
				found["comes"] = true
			default:
				found["neither"] = true
			}
			if absence.Instead != "" {
				wantFix += "; " + absence.Instead
				found["instead"] = true
			}
			if found := catalog.LinesWhere(func(l *catalog.Line) bool { _, ok := l.APIs[api]; return ok }); len(found) > 0 {
				wantFix += "; or use a server of " + release.FormatLines(found) + ", with spec.distribution.version or another image"
			}
			if p.Reason != problem.UnsupportedByRelease || p.Path != "spec.x" || p.Detail != wantDetail || p.Fix != wantFix {
				t.Errorf("%s on %s: %+v", api, name, p)
			}
		}
	}
	if len(found) < 4 {
		t.Errorf("the catalog has only %v", found)
	}
}

// Proves: FR-075, R90 (the message suggests other release lines only if there are any).
func TestOtherReleaseLines(t *testing.T) {
	lines := catalog.Lines()
	for want, some := range map[string][]string{
		"": nil,
		"; or use a server of release line " + lines[0] + ", with spec.distribution.version or another image": lines[:1],
	} {
		if got := release.OtherLines(func(l *catalog.Line) bool { return slices.Contains(some, l.Name) }); got != want {
			t.Errorf("%v: %q, want %q", some, got, want)
		}
	}
	for want, some := range map[string][]string{
		"release lines " + catalog.Newest() + " and newer":       {catalog.Newest()},
		"release lines 0.3 and newer":                            lines,
		"release line 0.4":                                       {"0.4"},
		"release lines 0.3 to 0.5":                               {"0.3", "0.4", "0.5"},
		"release lines 0.3, 0.5":                                 {"0.3", "0.5"},
		"release lines " + lines[0] + ", " + lines[len(lines)-1]: {lines[0], lines[len(lines)-1]},
	} {
		if got := release.FormatLines(some); got != want {
			t.Errorf("%v: %q, want %q", some, got, want)
		}
	}
}

// Proves: FR-029.
func TestSchemaVersionRejectsUnknownVersions(t *testing.T) {
	for text, want := range map[string]struct {
		version int32
		shown   string
	}{
		"version: 2": {2, ""}, "version: '2'": {2, ""}, "version: 1": {1, ""}, "apis: []": {2, ""},
		"version: 3": {0, "3"}, "version: [2]": {0, "(not a number)"}, "version: ''": {0, "(not a number)"},
	} {
		base, err := document.ParseBase("b", []byte(text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		found := &problem.Collector{}
		got := release.SchemaVersion(base.Edit(), found)
		if got != want.version || found.HasErrors() != (want.shown != "") || !strings.Contains(found.List().Message(), want.shown) {
			t.Errorf("%s: %d, %s", text, got, found.List().Message())
		}
	}
}
