// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

var generous = Limits{Bytes: math.MaxInt, Levels: StoredLevels, Nodes: math.MaxInt}

// Proves: R63.
func TestScanCountsLevelsAndValues(t *testing.T) {
	for text, want := range map[string]Size{
		`7`:                          {Levels: 0, Nodes: 1},
		`"a{[\"\\"`:                  {Levels: 0, Nodes: 1},
		` null `:                     {Levels: 0, Nodes: 1},
		`{}`:                         {Levels: 1, Nodes: 1},
		`[]`:                         {Levels: 1, Nodes: 1},
		`{"a":1}`:                    {Levels: 1, Nodes: 2},
		`{"a":{"b":[1,"x",true]}}`:   {Levels: 3, Nodes: 6},
		`[[],[[]]]`:                  {Levels: 3, Nodes: 4, Items: 2},
		`{"\"}":"]","b":{"{":null}}`: {Levels: 2, Nodes: 4},
		"[1,\n\t2 , 3.5e-1]":         {Levels: 1, Nodes: 4, Items: 3},
		``:                           {Levels: 0, Nodes: 0},
	} {
		if got, excess := Scan([]byte(text), generous); got != want || excess != nil {
			t.Errorf("%s: %+v %v, want %+v", text, got, excess, want)
		}
	}
}

// Proves: R63 (limits are exact, and the error has the path of the excess).
func TestScanStopsAtTheFirstExcess(t *testing.T) {
	limits := Limits{Bytes: 200, Levels: 3, Nodes: 6}
	for text, want := range map[string]string{
		`{"a":[{}]}`:                            "",
		`{"a":[{}, {"b-c": []}]}`:               "more than 3 levels of nesting, at .a[1].b-c",
		`[1,2,3,4,5]`:                           "",
		`[1,2,3,{"x y":[4,5]},5]`:               `more than 6 values, at [3]["x y"][0]`,
		`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6}`: "more than 6 values, at .f",
		strings.Repeat(" ", 201):                "more than 200 bytes",
	} {
		_, excess := Scan([]byte(text), limits)
		if got := message(excess); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func message(excess *ExcessError) string {
	if excess == nil {
		return ""
	}
	return excess.Error()
}

// Proves: R63 (messages are bounded for any text).
func TestExcessHasShortPath(t *testing.T) {
	name := strings.Repeat("ü", 5_000)
	text := strings.Repeat(`{"`+name+`":`, 30)
	_, excess := Scan([]byte(text), Limits{Bytes: math.MaxInt, Levels: 20, Nodes: 100})
	if excess == nil || len(excess.Error()) > MessageBytes || !utf8.ValidString(excess.Error()) || !strings.HasSuffix(excess.Path, "…") {
		t.Errorf("%v", excess)
	}
}

// Proves: R63 (a text that opens a million lists allocates no memory for them).
func TestScanNeedsMemoryForItsLimitsOnly(t *testing.T) {
	text := []byte(strings.Repeat("[", 1<<20))
	limits := Limits{Bytes: len(text), Levels: OpenFieldLevels, Nodes: OpenFieldNodes}
	allocated := testing.AllocsPerRun(10, func() {
		if _, excess := Scan(text, limits); excess == nil {
			t.Fatal("not refused")
		}
	})
	if allocated > 2*OpenFieldLevels {
		t.Errorf("%v allocations", allocated)
	}
}

// Proves: R63.
func TestCutMarksTruncationAndKeepsCharacters(t *testing.T) {
	if got := Cut("short", 5); got != "short" {
		t.Errorf("%q", got)
	}
	for most := len(cutMark); most < 40; most++ {
		got := Cut(strings.Repeat("ö", 30), most)
		if len(got) > most || !utf8.ValidString(got) || !strings.HasSuffix(got, cutMark) {
			t.Errorf("%d: %q", most, got)
		}
	}
	if got := len(Message(strings.Repeat("x", 5_000))); got != MessageBytes {
		t.Errorf("a message has %d bytes", got)
	}
}

// Proves: R63 (a list has at most 20 names).
func TestNamesReportsNumberOfOmittedNames(t *testing.T) {
	names := strings.Split(strings.Repeat("n ", 24)+"n", " ")
	if got := Names(names[:20]); strings.Count(got, "n") != 20 || strings.Contains(got, "more") {
		t.Error(got)
	}
	if got := Names(names); !strings.HasSuffix(got, "n and 5 more") || strings.Count(got, "n, ") != 19 {
		t.Error(got)
	}
}

// FuzzScan compares the counts with a decoder's, and must not panic for other input.
//
// Proves: R63.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":[1,"x\"",true]}}`, `[[],[[]],{"a":null}]`, `{"\\":"\\"}`, `[1`, `"`, `{"a"`, `}}`, `"\`, `{"a":1,"a":[2]}`} {
		f.Add(seed, 3, 7)
	}
	f.Fuzz(func(t *testing.T, text string, levels, nodes int) {
		size, excess := Scan([]byte(text), generous)
		limited, first := Scan([]byte(text), Limits{Bytes: len(text), Levels: levels & 0xff, Nodes: nodes & 0xff})
		if limited.Levels > levels&0xff || limited.Nodes > nodes&0xff {
			t.Errorf("%+v is over %d levels, %d values", limited, levels&0xff, nodes&0xff)
		}
		if over := size.Levels > levels&0xff || size.Nodes > nodes&0xff; excess == nil && over != (first != nil) {
			t.Errorf("%+v, but %v", size, first)
		}
		if first != nil && (len(first.Error()) > MessageBytes || !utf8.ValidString(first.Error())) {
			t.Errorf("message %q", first.Error())
		}
		want, ok := decoded(text)
		if ok && (excess != nil || size != want) {
			t.Errorf("%q: %+v %v, want %+v", text, size, excess, want)
		}
	})
}

// decoded counts the levels and values that a decoder reads. It returns false unless the text is one JSON value.
func decoded(text string) (Size, bool) {
	if !json.Valid([]byte(text)) {
		return Size{}, false
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	var size Size
	var objects []bool // of the open containers; the position distinguishes names from values
	var position []int
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return size, true
		}
		if err != nil {
			return Size{}, false
		}
		if d, ok := token.(json.Delim); ok && (d == '}' || d == ']') {
			objects, position = objects[:len(objects)-1], position[:len(position)-1]
			continue
		}
		name := false
		if top := len(objects) - 1; top >= 0 {
			name = objects[top] && position[top]%2 == 0
			position[top]++
		}
		if !name {
			size.Nodes++
			if len(objects) == 1 && !objects[0] {
				size.Items++
			}
		}
		if d, ok := token.(json.Delim); ok {
			objects, position = append(objects, d == '{'), append(position, 0)
			size.Levels = max(size.Levels, len(objects))
		}
	}
}

// Names of letters, digits, "_" and "-" are not quoted in paths.
func TestExcessQuotesOddNames(t *testing.T) {
	for name, want := range map[string]string{
		"azAZ09_-": ".azAZ09_-", "a/b": `["a/b"]`, "a:b": `["a:b"]`, "a@b": `["a@b"]`, "a[b": `["a[b"]`, "a`b": "[\"a`b\"]", "a{b": `["a{b"]`, "": `[""]`,
	} {
		_, excess := Scan([]byte(`{"`+name+`": [[[1]]]}`), Limits{Bytes: 1000, Levels: 2, Nodes: 100})
		if excess == nil || !strings.HasPrefix(excess.Path, want) {
			t.Errorf("%q: %+v, want the path %s", name, excess, want)
		}
	}
}

// Proves: NFR-003.
func TestJoinBoundsPaths(t *testing.T) {
	const most = 256
	for _, c := range []struct {
		path, step int
		want       int
		cut        bool
	}{
		{10, 5, 15, false}, {most - 5, 5, most, false}, {most - 5, 6, most - 5, false}, {most - 100, 101, most, true}, {most, 1, most, false}, {most - 20, 21, most, true},
	} {
		got := Join(strings.Repeat("p", c.path), strings.Repeat("s", c.step))
		if len(got) != c.want || strings.Contains(got, "(cut)") != c.cut {
			t.Errorf("%d and %d: %d bytes, %q", c.path, c.step, len(got), got)
		}
	}
}
