// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Proves: R63 (the result does not depend on the rest of the object, which may be too deep for decoders).
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

// Proves: R63 (a field in another spelling must not hide a second value from the limits).
func TestSpellingsCountsKeysThatDecodersAccept(t *testing.T) {
	for text, want := range map[string]int{
		`{}`: 0, `[{"spec":1}]`: 0, `{"a":{"spec":1}}`: 0, `{"spec":1}`: 1, ` { "spec" : {} , "status" : 1 } `: 1,
		`{"spec":1,"spec":2}`: 2, `{"SPEC":1}`: 1, `{"spec":1,"Spec":2}`: 2, `{"sp\u0065c":1}`: 1, `{"spec":1,"\u017fpec":2,"ſpec":3}`: 3,
		`{"spec\":1}`: 0, `{"spec\q":1}`: 0, `{"spec`: 0, `{"`: 0,
	} {
		if got := Spellings([]byte(text), "spec"); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// FuzzMember compares the result with a decoder's, and must not panic for other input.
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
