// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Proves: R63 (parts of an object are found whatever is around them, also where nothing can decode it).
func TestMemberFindsValueWithoutDecoding(t *testing.T) {
	deep := strings.Repeat(`[`, 20_000) + strings.Repeat(`]`, 20_000)
	for text, want := range map[string]string{
		`{"spec":{"a":1,"b":"}\""}}`:                    `"}\""`,
		` { "x" : ` + deep + ` , "spec" : { "b" : 7 }}`: `7`,
		`{"spec":{"b":[1,{"b":2}] , "c":3}}`:            `[1,{"b":2}]`,
		`{"spec":{"b":null}}`:                           `null`,
		`{"spec":[{"b":1}]}`:                            "",
		`{"spec":{}}`:                                   "",
		`{"spec":{"b"`:                                  "",
		`{"b":1}`:                                       "",
		`{`:                                             "",
		``:                                              "",
	} {
		begin, end, found := Member([]byte(text), "spec", "b")
		if got := text[begin:end]; found != (want != "") || found && got != want {
			t.Errorf("%.60s: %v %q, want %q", text, found, got, want)
		}
	}
}

// FuzzMember finds what a decoder finds, and takes anything else without a panic.
//
// Proves: R63.
func FuzzMember(f *testing.F) {
	f.Add(`{"a":{"b":[1,"x"]},"c":2}`)
	f.Add(`{"a" : "\\" , "b":`)
	f.Fuzz(func(t *testing.T, text string) {
		begin, end, found := Member([]byte(text), "a")
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &object) != nil || strings.Count(text, `"a"`) != 1 || strings.Contains(text, `\u`) {
			return
		}
		want, there := object["a"]
		if found != there || found && !cmp.Equal(strings.TrimSpace(text[begin:end]), strings.TrimSpace(string(want))) {
			t.Errorf("%q: %v %q, want %v %q", text, found, text[begin:end], there, want)
		}
	})
}
