// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

const (
	hubVersion   = "llamastack.io/v1alpha2"
	spokeVersion = "llamastack.io/v1alpha1"
)

func nestedJSON(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

func hubWith(field, value string) string {
	return `{"apiVersion":"` + hubVersion + `","kind":"LlamaStackDistribution","metadata":{"name":"s"},"spec":{"distribution":{"name":"starter"},"workload":{"replicas":2},"` +
		field + `":` + value + `}}`
}

// inReview returns a converted object as the API server decodes it from the review.
func inReview(t *testing.T, object []byte) map[string]any {
	t.Helper()
	var review struct {
		Response struct {
			ConvertedObjects []map[string]any `json:"convertedObjects"`
		} `json:"response"`
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(`{"response":{"convertedObjects":[`+string(object)+`]}}`), &review); err != nil {
		t.Fatalf("the API server cannot decode the answer: %v", err)
	}
	return review.Response.ConvertedObjects[0]
}

// Proves: R63, L-26 (one stored object must not make a list fail, however deep or wide it is).
func TestConvertTextAcceptsAnyStoredObject(t *testing.T) {
	wide := "[" + strings.Repeat("[],", 450_000) + "[]]"
	for name, text := range map[string]string{
		"as deep as the API server stores": hubWith("providers", `{"inference":`+nestedJSON(limits.StoredLevels-3)+`}`),
		"a little less deep":               hubWith("providers", `{"inference":`+nestedJSON(limits.StoredLevels-6)+`}`),
		"deep resources":                   hubWith("resources", `{"models":[`+nestedJSON(limits.StoredLevels-4)+`]}`),
		"deep expose":                      hubWith("networking", `{"expose":`+nestedJSON(limits.StoredLevels-3)+`}`),
		"wide":                             hubWith("providers", `{"inference":`+wide+`}`),
		"deep and wide":                    hubWith("externalProviders", `{"a":`+nestedJSON(5_000)+`,"b":`+wide+`}`),
	} {
		down, err := v1alpha1.ConvertText(t.Context(), []byte(text), spokeVersion)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		spec, _ := inReview(t, down)["spec"].(map[string]any)
		if fmt.Sprint(spec["replicas"]) != "2" {
			t.Errorf("%s: replicas %v", name, spec["replicas"])
		}
		up, err := v1alpha1.ConvertText(t.Context(), down, hubVersion)
		if err != nil {
			t.Errorf("%s, and back: %v", name, err)
			continue
		}
		spec, _ = inReview(t, up)["spec"].(map[string]any)
		if workload, _ := spec["workload"].(map[string]any); fmt.Sprint(workload["replicas"]) != "2" {
			t.Errorf("%s, and back: %v", name, workload)
		}
	}
}

// Proves: L-26 (an open field over the operator's limits, but small enough for a response, is kept).
func TestConvertTextKeepsLargeFields(t *testing.T) {
	for _, value := range []string{
		`{"inference":` + nestedJSON(limits.OpenFieldLevels*3) + `}`,
		`{"inference":[` + strings.Repeat("1,", limits.OpenFieldNodes+1) + `1.5]}`,
	} {
		down, err := v1alpha1.ConvertText(t.Context(), []byte(hubWith("providers", value)), spokeVersion)
		if err != nil {
			t.Fatal(err)
		}
		up, err := v1alpha1.ConvertText(t.Context(), down, hubVersion)
		if err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(inReview(t, up)["spec"].(map[string]any)["providers"])
		if err != nil || string(got) != value {
			t.Errorf("%v %.200s, want %.200s", err, got, value)
		}
	}
}

// Only objects that the API server could not decode lose their managedFields. It then keeps the stored ones.
//
// Proves: L-26.
func TestConvertTextKeepsManagedFields(t *testing.T) {
	const entry = `[{"manager":"kubectl","operation":"Apply"}]`
	text := strings.Replace(hubWith("disabled", `["eval"]`), `{"name":"s"}`, `{"name":"s","managedFields":`+entry+`}`, 1)
	converted, err := v1alpha1.ConvertText(t.Context(), []byte(text), spokeVersion)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(inReview(t, converted)["metadata"].(map[string]any)["managedFields"])
	if err != nil || string(got) != entry {
		t.Errorf("%v %s, want %s", err, got, entry)
	}
}

// Proves: L-26, R63 (an edited annotation cannot produce an object that the API server cannot decode).
func TestConvertTextKeepsTooDeepAnnotation(t *testing.T) {
	record := `{"version":1,"kept":{"spec.providers":{"was":` + nestedJSON(limits.StoredLevels-4) + `}}}`
	quoted, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	text := `{"apiVersion":"` + spokeVersion + `","metadata":{"name":"s","annotations":{"` + v1alpha2.ConversionAnnotation + `":` + string(quoted) + `}},"spec":{}}`
	up, err := v1alpha1.ConvertText(t.Context(), []byte(text), hubVersion)
	if err != nil {
		t.Fatal(err)
	}
	annotations, _ := inReview(t, up)["metadata"].(map[string]any)["annotations"].(map[string]any)
	if annotations[v1alpha2.UnreadableConversionAnnotation] != record {
		t.Errorf("the annotation is lost: %.300v", annotations)
	}
}

// Invalid JSON objects and objects of other APIs give different errors.
func TestConvertTextRejectsNonObjects(t *testing.T) {
	for text, want := range map[string]bool{`"x"`: true, `null`: true, `{`: true, `{"apiVersion":"v1"}`: false} {
		if _, err := v1alpha1.ConvertText(t.Context(), []byte(text), hubVersion); err == nil || errors.Is(err, v1alpha1.ErrNotAnObject) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// leaving is a context that is canceled after a number of calls of Err.
type leaving struct {
	context.Context
	asked, after int
}

func (c *leaving) Err() error {
	c.asked++
	if c.asked > c.after {
		return context.Canceled
	}
	return nil
}

// A canceled conversion stops before its next step. The texts would make each further step fail with another error.
//
// Proves: R63.
func TestConvertTextStopsBeforeEachStep(t *testing.T) {
	const sound = `{"apiVersion":"` + spokeVersion + `","spec":{}}`
	for _, c := range []struct {
		step, text string
		after      int
	}{
		{"decoding", `{`, 0}, {"converting", `{"apiVersion":"v1"}`, 1}, {"writing", sound, 2},
	} {
		ctx := &leaving{Context: t.Context(), after: c.after}
		if answer, err := v1alpha1.ConvertText(ctx, []byte(c.text), hubVersion); !errors.Is(err, context.Canceled) || answer != nil || ctx.asked != c.after+1 {
			t.Errorf("%s: %s, %v, asked %d times", c.step, answer, err, ctx.asked)
		}
	}
	if _, err := v1alpha1.ConvertText(&leaving{Context: t.Context(), after: 3}, []byte(sound), hubVersion); err != nil {
		t.Errorf("who has not gone: %v", err)
	}
}
