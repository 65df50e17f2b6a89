// SPDX-License-Identifier: Apache-2.0

package document_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

const someProviders = `
apis: [inference]
providers:
  inference:
  - {provider_id: a, provider_type: remote::a}
  - {provider_id: "${env.A:+a}", provider_type: remote::conditional}
  - {provider_id: "${env.B:+b}", provider_type: remote::b}
  - {provider_id: "${env.B:=c}", provider_type: remote::c}
  - {provider_id: __disabled__, provider_type: remote::off}
  safety:
  - {provider_id: "${env.X}", provider_type: inline::x}
  eval:
  - {provider_id: __disabled__, provider_type: inline::off}
`

func TestVersionMayBeAbsent(t *testing.T) {
	base, err := document.ParseBase("b", []byte("apis: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	if version, given := base.Edit().Version(); version != "" || given {
		t.Errorf("%q, %v", version, given)
	}
	if version, given := step.Document(t, "").Version(); version != "2" || !given {
		t.Errorf("%q, %v", version, given)
	}
}

func TestEnableAPIAddsToAListOnce(t *testing.T) {
	for sections, want := range map[string]string{
		"apis: [a]\n": `["a","new"]`, "apis: [new, a]\n": `["new","a"]`, "apis: []\n": `[]`, "": "",
	} {
		doc := step.Document(t, sections)
		doc.EnableAPI("new")
		doc.EnableAPI("new")
		if got := step.Section(t, step.Text(t, doc), "apis"); got != want {
			t.Errorf("%q: %s, want %s", sections, got, want)
		}
	}
}

// The new entry takes the position of the first one.
func TestPutProviderReplacesAllOfItsID(t *testing.T) {
	entry := func() *yaml.Node {
		n := &yaml.Node{Kind: yaml.MappingNode}
		document.Set(n, "provider_id", document.String("a"))
		document.Set(n, "provider_type", document.String("new"))
		return n
	}
	for sections, want := range map[string]string{
		someProviders: "new remote::b remote::c remote::off",
		"":            "new",
		"providers: {inference: [{provider_id: x, provider_type: x}]}\n": "x new",
	} {
		doc := step.Document(t, sections)
		doc.PutProvider("inference", "a", entry())
		var types []string
		for e := range doc.Providers() {
			if e.API == "inference" {
				types = append(types, e.Type())
			}
		}
		if got := strings.Join(types, " "); got != want {
			t.Errorf("%q: %s", sections, got)
		}
	}
}

func TestHasProviderIncludesConditionalProviders(t *testing.T) {
	doc := step.Document(t, someProviders)
	for api, want := range map[string]bool{"inference": true, "safety": true, "eval": false, "gone": false} {
		if got := doc.HasProvider(api); got != want {
			t.Errorf("%s: %v", api, got)
		}
	}
}

func TestProviderOfFindsTheEntryOfAnIdentity(t *testing.T) {
	doc := step.Document(t, someProviders)
	for i, want := range []string{"remote::a", "remote::conditional", "remote::b", "remote::c", ""} {
		id := doc.Identities("inference")[i]
		entry, ok := doc.ProviderOf("inference", id)
		if ok != (want != "") || entry.Type() != want || doc.TypeOf("inference", id) != want || ok && entry.Path() != fmt.Sprintf("providers.inference[%d]", i) {
			t.Errorf("%d: %s at %s, %v", i, entry.Type(), entry.Path(), ok)
		}
	}
}

// Providers that an environment variable of the image may disable are excluded.
func TestEnabledProvidersAreThoseThatTheEnvironmentCannotDisable(t *testing.T) {
	doc := step.Document(t, someProviders)
	for given, want := range map[string]string{"": "a", "A": "a a", "B": "a b"} {
		var ids []string
		for _, p := range doc.EnabledProviders(document.Variables{given: true}) {
			ids = append(ids, p.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("with %q: %s, want %s", given, got, want)
		}
	}
}

func TestLookupPrefersEnabledProvider(t *testing.T) {
	doc := step.Document(t, `
providers:
  inference: [{provider_id: "${env.A:+a}"}, {provider_id: a}, {provider_id: a, second: true}, {provider_id: "${env.B:+b}"}]
  safety: [{provider_id: "${env.X}"}]
`)
	set := doc.Lookup("inference", nil)
	if id, ok := set.Find("a"); !ok || id.Raw != "a" {
		t.Errorf("a: %+v", id)
	}
	if id, ok := set.Find("b"); !ok || id.Raw != "${env.B:+b}" {
		t.Errorf("b: %+v", id)
	}
	if id, ok := set.First("a"); !ok || id.Raw != "${env.A:+a}" {
		t.Errorf("first a: %+v", id)
	}
	for _, unknown := range []string{"", "c"} {
		_, found := set.Find(unknown)
		if _, first := set.First(unknown); found || first {
			t.Errorf("%q is found", unknown)
		}
	}
	if set.Names() != "a, b" || set.HasUnknown || !doc.Lookup("safety", nil).HasUnknown {
		t.Errorf("%s, %v", set.Names(), set.HasUnknown)
	}
	if got := set.Nearest("bb"); got != "" && !strings.Contains(got, `"b"`) {
		t.Errorf("%q", got)
	}
}

func TestVariablesDecideWhichValuesAreEmpty(t *testing.T) {
	given := document.Variables{"SET": true}
	for text, want := range map[string]struct{ empty, fills bool }{
		"":                   {true, false},
		"x":                  {false, true},
		"a ${env.X}":         {false, true},
		"${env.X}":           {true, true},
		"${env.SET}":         {false, true},
		"${env.X:=}":         {true, false},
		"${env.X:=default}":  {false, true},
		"${env.X:+if set}":   {true, false},
		"${env.SET:+if set}": {false, true},
	} {
		if got := given.IsEmpty(document.String(text)); got != want.empty {
			t.Errorf("IsEmpty(%q) = %v", text, got)
		}
		if got := given.HasValue(document.String(text)); got != want.fills {
			t.Errorf("Fills(%q) = %v", text, got)
		}
	}
	if !given.IsEmpty(nil) || given.IsEmpty(&yaml.Node{Kind: yaml.MappingNode}) || given.HasValue(nil) {
		t.Error("nothing is empty, a map is not")
	}
}

func TestVariablesDecideWhichProvidersAreEnabled(t *testing.T) {
	given := document.Variables{"SET": true}
	for id, want := range map[string]struct {
		may    bool
		toggle string
	}{
		"plain":                    {true, ""},
		"__disabled__":             {false, ""},
		"${env.X:+x}":              {false, "X"},
		"${env.SET:+x}":            {true, ""},
		"${env.X:=x}":              {true, ""},
		"${env.SET:=x}":            {true, ""},
		"${env.X}":                 {true, ""},
		"${env.X:=__disabled__}":   {false, ""},
		"${env.SET:=__disabled__}": {true, ""},
		"a-${env.X:+x}":            {false, ""},
		"a-${env.SET:+x}-${env.X}": {true, ""},
	} {
		identity := document.IdentityOf(document.String(id))
		if got := given.MayEnable(identity); got != want.may {
			t.Errorf("MayEnable(%s) = %v", id, got)
		}
		if got := given.MissingSwitch(identity); got != want.toggle {
			t.Errorf("MissingSwitch(%s) = %q", id, got)
		}
	}
}

func node(t *testing.T, text string) *yaml.Node {
	t.Helper()
	n, err := document.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func textOf(t *testing.T, n *yaml.Node) string {
	t.Helper()
	text, err := yaml.Marshal(n)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNodesOfMaps(t *testing.T) {
	m := node(t, "a: 1\nb: null\nc: [x, z]\n")
	if got := document.Keys(m); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("keys %v", got)
	}
	if document.Text(document.Child(m, "a")) != "1" || document.Child(m, "b") != nil || document.Child(m, "d") != nil {
		t.Error("the children are wrong")
	}
	list := document.Child(m, "c")
	if at, ok := document.IndexOf(m, "b"); at != 3 || !ok {
		t.Errorf("the value of b is at %d, %v", at, ok)
	}
	for _, none := range []*yaml.Node{list, nil} {
		if _, ok := document.IndexOf(none, "x"); ok || document.Keys(none) != nil {
			t.Error("a list has no keys")
		}
	}
	if len(document.Items(list)) != 2 || document.Items(m) != nil || document.Items(nil) != nil {
		t.Error("the items are wrong")
	}
	for range document.Members(list) {
		t.Error("a list has no members")
	}
	var seen []string
	for key := range document.Members(m) {
		seen = append(seen, key)
		if key == "b" {
			break
		}
	}
	if !slices.Equal(seen, []string{"a", "b"}) {
		t.Errorf("members %v", seen)
	}
	document.Set(m, "a", document.Int(2))
	document.Set(m, "e", document.Bool(true))
	document.Drop(m, "b")
	document.Drop(m, "gone")
	if ensured := document.Ensure(m, "c", yaml.MappingNode); ensured == list {
		t.Error("a list is no map")
	}
	if made := document.Ensure(m, "f", yaml.SequenceNode); made != document.Ensure(m, "f", yaml.SequenceNode) {
		t.Error("what is there is made again")
	}
	document.Set(document.Ensure(m, "g", yaml.MappingNode), "h", document.String("deep"))
	if got := document.Text(document.Descend(m, []string{"g", "h"})); got != "deep" || document.Descend(m, []string{"g", "x", "h"}) != nil {
		t.Errorf("descend to %q", got)
	}
	if got := textOf(t, m); got != "a: 2\nc: {}\ne: true\nf: []\ng:\n    h: deep\n" {
		t.Errorf("%s", got)
	}
}

// Values without a JSON form stay text.
func TestPlainReturnsJSONValues(t *testing.T) {
	tree := node(t, "text: x\nquoted: '1'\nint: 7\nfloat: 1.5\nbool: true\nnothing: null\nlist: [1, {deep: a}]\ninf: .inf\nnan: .nan\nodd: !!int seven\n")
	want := map[string]any{
		"text": "x", "quoted": "1", "int": 7, "float": 1.5, "bool": true, "nothing": nil, "list": []any{1, map[string]any{"deep": "a"}},
		"inf": ".inf", "nan": ".nan", "odd": "seven",
	}
	if diff := cmp.Diff(want, document.Plain(tree)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A variable with an empty default gives no value, and null gives none.
func TestGivenReturnsNonEmptyValues(t *testing.T) {
	for text, want := range map[string]string{
		"a: x": "x", "a: null": "", "a: ~": "", "a:": "", "a: [x]": "", "a: '${env.A:=}'": "", "a: '${env.A}'": "${env.A}", "a: '${env.A:=x}'": "${env.A:=x}",
		"a: 'x${env.A:=}'": "x${env.A:=}", "b: x": "",
	} {
		if got := document.Given(document.Child(node(t, text), "a")); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// If a map has a key twice, MapIndex sets the first one, as Set does.
func TestMapIndexSetsTheFirstOfAKey(t *testing.T) {
	m := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{
		document.String("a"), document.Int(1), document.String("b"), document.Int(2), document.String("a"), document.Int(3),
	}}
	index := document.NewMapIndex(m)
	index.Set("a", document.Int(7))
	index.Set("c", document.Int(8))
	index.Set("c", document.Int(9))
	var values []string
	for key, value := range document.Members(m) {
		values = append(values, key+value.Value)
	}
	if diff := cmp.Diff([]string{"a7", "b2", "a3", "c9"}, values); diff != "" {
		t.Error(diff)
	}
}

// A copy shares no nodes, and appending to one of its lists does not affect another.
func TestCloneSharesNothing(t *testing.T) {
	original := node(t, "a: [1, 2]\nb: [3]\n")
	before := textOf(t, original)
	c := document.Clone(original)
	list := document.Child(c, "a")
	list.Content = append(list.Content, document.Int(9))
	document.Child(c, "b").Content[0].Value = "4"
	if got := textOf(t, original); got != before {
		t.Errorf("the original is %s", got)
	}
	if got := step.Compact(t, textOf(t, c)); got != `{"a":[1,2,9],"b":[4]}` {
		t.Errorf("the copy is %s", got)
	}
}

func TestVariablesInATree(t *testing.T) {
	tree := node(t, "a: ${env.A} ${env.B:=x}\nb: [\"${env.A:+y}\", {c: \"${env.C}\"}]\n")
	if got := document.VariablesIn(tree); !slices.Equal(got, []string{"A", "B", "A", "C"}) {
		t.Errorf("%v", got)
	}
	if got := document.RequiredVariables(tree); !slices.Equal(got, []string{"A", "C"}) {
		t.Errorf("%v", got)
	}
	reference, ok := document.WholeReference("${env.AZ_09:=x}")
	if !ok || !reference.HasDefault() || reference.Name != "AZ_09" {
		t.Errorf("%+v", reference)
	}
	if reference, _ := document.WholeReference("${env.A:+x}"); reference.HasDefault() {
		t.Error("what is only there with the variable is no default")
	}
	if reference, _ := document.WholeReference("${env.A:=}"); reference.HasDefault() {
		t.Error("nothing is no default")
	}
}

func TestParseBaseMergesMaps(t *testing.T) {
	base, err := document.ParseBase("b", []byte("x: &x {a: 1, b: 2}\nz: &z {b: 3, c: 4}\none: {<<: *x, a: 0}\ntwo: {<<: [*x, *z]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	text := step.Text(t, base.Edit())
	for section, want := range map[string]string{"one": `{"a":0,"b":2}`, "two": `{"a":1,"b":2,"c":4}`} {
		if got := step.Section(t, text, section); got != want {
			t.Errorf("%s: %s", section, got)
		}
	}
}
