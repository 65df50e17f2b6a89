// SPDX-License-Identifier: Apache-2.0

package golden

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const someBase = `
server: {port: 8321, gone: x}
apis: [inference, safety, files]
providers:
  inference:
  - {provider_id: "${env.A:+a}", provider_type: "remote::a", config: {url: "${env.A:=}"}}
  - {provider_id: b, provider_type: "remote::b"}
registered_resources: {models: [{model_id: m, provider_id: a}, {model_id: m, provider_id: b}]}
`

const someConfig = `
server: {port: 9000, workers: 2}
apis: [files, inference, "a.b"]
providers:
  inference:
  - {provider_id: c, provider_type: "remote::c"}
  - {provider_id: a, provider_type: "remote::a", config: {url: "http://a"}}
  - {provider_id: b, provider_type: "remote::b", config: {"dotted.key": 1}}
registered_resources: {models: [{model_id: m, provider_id: a}, {model_id: m, provider_id: c}, {model_id: m, provider_id: b}]}
`

const someDifference = `# Comment.
removed:
- apis[safety]
- server.gone
changed:
  providers.inference[a].config.url: http://a
  providers.inference[a].provider_id: a
  registered_resources.models[m (2)].provider_id: c
  server.port: 9000
added:
  apis[a.b]: a.b
  providers.inference[c]:
    provider_id: c
    provider_type: remote::c
  providers.inference[b].config:
    dotted.key: 1
  registered_resources.models[m (3)]:
    model_id: m
    provider_id: b
  server.workers: 2
order:
  apis: [files, inference, a.b]
  providers.inference: [c, a, b]
`

func TestDifferenceNamesEachChangeByItsPath(t *testing.T) {
	d, err := Diff([]byte(someBase), []byte(someConfig))
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.Encode("Comment.")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(someDifference, string(text)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := Check([]byte(someBase), []byte(someConfig), text); err != nil {
		t.Error(err)
	}
	if err := Check([]byte(someBase), []byte(someConfig+"more: 1\n"), text); err == nil {
		t.Error("a configuration with another key passes")
	}
}

// Whatever two trees hold, nothing gets lost: types, empty and null values, equal ids, keys with dots and brackets, orders.
func TestDifferenceLosesNothing(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 1))
		before := map[string]any{"t": tree(r, 4)}
		after := map[string]any{"t": mutated(r, before["t"], 4)}
		base, full := encoded(t, before), encoded(t, after)
		d, err := Diff(base, full)
		if err != nil {
			t.Fatal(err)
		}
		text, err := d.Encode("Comment.")
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(base, full, text); err != nil {
			t.Fatalf("seed %d: %v\nbase:\n%s\nconfiguration:\n%s\ndifference:\n%s", seed, err, base, full, text)
		}
	}
}

func encoded(t *testing.T, value any) []byte {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var someKeys = []string{"a", "b", "a.b", "x[y]", `q"q`, "provider_id", "", "#", "item 1", "a (2)"}

func tree(r *rand.Rand, depth int) any {
	if depth <= 0 || r.IntN(4) == 0 {
		return []any{"a", "b", "", nil, 1, 1.5, "1", true, "${env.X:+a}", map[string]any{}, []any{}}[r.IntN(11)]
	}
	if r.IntN(2) == 0 {
		made := map[string]any{}
		for range r.IntN(4) {
			made[someKeys[r.IntN(len(someKeys))]] = tree(r, depth-1)
		}
		return made
	}
	var made []any
	for i := range r.IntN(5) {
		item := tree(r, depth-1)
		if r.IntN(2) == 0 {
			item = map[string]any{"provider_id": fmt.Sprintf("p%d", r.IntN(i+2)), "config": item}
		}
		made = append(made, item)
	}
	return made
}

// mutated is a tree with some of its parts replaced, removed, added or moved.
func mutated(r *rand.Rand, value any, depth int) any {
	if r.IntN(8) == 0 {
		return tree(r, depth)
	}
	switch value := value.(type) {
	case map[string]any:
		made := map[string]any{}
		for _, key := range someKeys {
			if old, ok := value[key]; ok && r.IntN(6) > 0 {
				made[key] = mutated(r, old, depth-1)
			}
		}
		if old, ok := value["config"]; ok {
			made["config"] = mutated(r, old, depth-1)
		}
		if r.IntN(5) == 0 {
			made[someKeys[r.IntN(len(someKeys))]] = tree(r, max(depth-1, 0))
		}
		return made
	case []any:
		var made []any
		for _, old := range value {
			if r.IntN(6) > 0 {
				made = append(made, mutated(r, old, max(depth-1, 0)))
			}
		}
		if r.IntN(3) == 0 {
			made = append(made, tree(r, max(depth-1, 0)))
		}
		if r.IntN(3) == 0 {
			r.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
		}
		return made
	}
	return value
}
