// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/release"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// The message about an API that a release line lacks says since when, and what to do instead, as far as that is known.
//
// Proves: FR-075, R16.
func TestMissingAPISaysWhenAndWhatInstead(t *testing.T) {
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
			case absence.GoneSince != "":
				wantDetail += ", which is gone since " + absence.GoneSince
				found["gone"] = true
			case absence.ComesWith != "":
				wantDetail += ", which comes with " + absence.ComesWith
				found["comes"] = true
			default:
				found["neither"] = true
			}
			if absence.Instead != "" {
				wantFix += "; " + absence.Instead
				found["instead"] = true
			}
			if absence.ComesWith != "" {
				wantFix += "; or use a distribution of release line " + absence.ComesWith
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

// Proves: FR-029.
func TestSchemaVersionRefusesWhatItCannotEdit(t *testing.T) {
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
