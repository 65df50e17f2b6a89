// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

func post(t testing.TB, body string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	NewIntake().Handler(Conversion()).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, ConversionPath, strings.NewReader(body)))
	return recorder.Code, recorder.Body.String()
}

func reviewOf(desired string, objects ...string) string {
	return fmt.Sprintf(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u-1","desiredAPIVersion":%q,"objects":[%s]}}`,
		desired, strings.Join(objects, ","))
}

func tree(t testing.TB, text []byte) map[string]any {
	t.Helper()
	var value map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &value); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return value
}

// Proves: FR-080, MIG-EX (the examples of the migration guide).
func TestConversionOfTheExamples(t *testing.T) {
	examples, err := filepath.Glob(filepath.FromSlash("../../api/v1alpha1/testdata/conversion/*"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("%d examples, %v", len(examples), err)
	}
	for _, dir := range examples {
		read := func(name string) []byte {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if text, err = yaml.YAMLToJSON(text); err != nil {
				t.Fatal(err)
			}
			return text
		}
		want := tree(t, read("converted.yaml"))
		code, answer := post(t, reviewOf("llamastack.io/v1alpha2", string(read("before.yaml"))))
		got := tree(t, []byte(answer))
		if diff := cmp.Diff(map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
			"response": map[string]any{"uid": "u-1", "result": map[string]any{"status": "Success"}, "convertedObjects": []any{want}},
		}, got); code != http.StatusOK || diff != "" {
			t.Errorf("%s: %d (-want +got):\n%s", filepath.Base(dir), code, diff)
		}
	}
}

// Proves: R63 (the stored depth is converted, one level more is not decoded, and too many values are refused).
func TestConversionMeasuresV1alpha1BeforeDecoding(t *testing.T) {
	object := func(value string) string {
		return `{"apiVersion":"llamastack.io/v1alpha1","kind":"LlamaStackDistribution","metadata":{"name":"a"},"spec":{"server":{"userConfig":` + value + `}}}`
	}
	nested := func(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
	const around = 3 // object, spec and server
	for name, c := range map[string]struct {
		value string
		code  int
		want  string
	}{
		"as deep as is stored": {nested(limits.StoredLevels - around - 100), http.StatusOK, `"status":"Success"`},
		"deeper":               {nested(limits.StoredLevels - around + 1), http.StatusBadRequest, "exceeded max depth"},
		"as wide as is stored": {"[0" + strings.Repeat(",0", 1_500_000/2) + "]", http.StatusOK, `"status":"Success"`},
		"wider":                {"[0" + strings.Repeat(",0", 4_000_000/2) + "]", http.StatusOK, `"status":"Failure"`},
	} {
		if code, answer := post(t, reviewOf("llamastack.io/v1alpha2", object(c.value))); code != c.code || !strings.Contains(answer, c.want) {
			t.Errorf("%s: %d %.200s", name, code, answer)
		}
	}
}

// Proves: L-26 (values that Go types refuse or reformat are kept, with one result for each object in order).
func TestConversionKeepsValuesThatTypesReject(t *testing.T) {
	object := func(name string) string {
		return `{"apiVersion":"llamastack.io/v1alpha1","kind":"LlamaStackDistribution","metadata":{"name":"` + name + `"},"spec":{"replicas":1,"server":{
		"distribution":{"name":"starter"},"containerSpec":{"name":"llama-stack","resources":{"limits":{"cpu":"1000m","memory":"1e1.5"}}},
		"podDisruptionBudget":{"maxUnavailable":3000000000},"storage":{"size":1073741824}}}}`
	}
	_, there := post(t, reviewOf("llamastack.io/v1alpha2", object("a"), object("b")))
	converted := tree(t, []byte(there))["response"].(map[string]any)["convertedObjects"].([]any)
	var objects []string
	for _, o := range converted {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, string(text))
	}
	_, back := post(t, reviewOf("llamastack.io/v1alpha1", objects...))
	want := []any{tree(t, []byte(object("a"))), tree(t, []byte(object("b")))}
	if diff := cmp.Diff(want, tree(t, []byte(back))["response"].(map[string]any)["convertedObjects"]); diff != "" {
		t.Errorf("there and back (-want +got):\n%s", diff)
	}
}

// Proves: R63 (the levels of the review do not count).
func TestConversionOfTheDeepest(t *testing.T) {
	const levels = limits.StoredLevels - 4 // minus the levels around it in the object
	deep := `{"apiVersion":"llamastack.io/v1alpha2","kind":"LlamaStackDistribution","metadata":{"name":"deep"},"spec":{"distribution":{"name":"starter"},
		"providers":{"inference":{"settings":` + strings.Repeat(`[`, levels) + strings.Repeat(`]`, levels) + `}}}}`
	plain := `{"apiVersion":"llamastack.io/v1alpha2","kind":"LlamaStackDistribution","metadata":{"name":"plain"},"spec":{"distribution":{"name":"starter"}}}`
	code, answer := post(t, reviewOf("llamastack.io/v1alpha1", plain, deep, plain))
	if code != http.StatusOK || strings.Count(answer, `"llamastack.io/v1alpha1"`) != 3 || !strings.Contains(answer, `"result":{"status":"Success"}`) {
		t.Errorf("%d %.300s", code, answer)
	}
	// More levels cannot be stored.
	if _, answer := post(t, reviewOf("llamastack.io/v1alpha1", strings.ReplaceAll(deep, "[]", "[[[[[[]]]]]]"))); strings.Contains(answer, "Success") {
		t.Errorf("%.300s", answer)
	}
}

// Proves: R63 (an object that would take too much memory is refused; an object of that size is never stored).
func TestConversionRefusesTooManyValues(t *testing.T) {
	object := `{"apiVersion":"llamastack.io/v1alpha2","spec":[` + strings.Repeat(`{"":0},`, 1<<20) + `0]}`
	code, answer := post(t, reviewOf("llamastack.io/v1alpha1", object))
	if code != http.StatusOK || !strings.Contains(answer, `"uid":"u-1","convertedObjects":[],"result":{"status":"Failure","message":"the object has too many values`) {
		t.Errorf("%d %.300s", code, answer)
	}
}

// Proves: R63 (a conversion without its client gets neither a partial result nor a refusal).
func TestConversionEndsWithItsSender(t *testing.T) {
	review, err := readConversion([]byte(reviewOf("llamastack.io/v1alpha2", `{"apiVersion":"llamastack.io/v1alpha1"}`)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if answer, err := review.Result(ctx); !errors.Is(err, context.Canceled) || answer != nil {
		t.Errorf("%s, %v", answer, err)
	}
}

func TestConversionRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		code int
		want string
	}{
		"no JSON":         {"x", http.StatusBadRequest, "not a ConversionReview"},
		"another version": {strings.Replace(reviewOf("v"), "io/v1", "io/v2", 1), http.StatusBadRequest, "io/v2"},
		"no request":      {`{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview"}`, http.StatusBadRequest, "with a request"},
		"no object":       {reviewOf("llamastack.io/v1alpha1", `"x"`), http.StatusBadRequest, "not a ConversionReview"},
		"many objects":    {reviewOf("llamastack.io/v1alpha1", strings.Repeat("{},", 10_000)+"{}"), http.StatusBadRequest, "more than 10000 objects"},
		"another API": {reviewOf("llamastack.io/v1", `{"apiVersion":"llamastack.io/v1alpha1"}`), http.StatusOK,
			`"result":{"status":"Failure","message":"cannot convert apiVersion llamastack.io/v1alpha1 to llamastack.io/v1`},
		"nothing to do": {reviewOf("llamastack.io/v1alpha1"), http.StatusOK, `"convertedObjects":[],"result":{"status":"Success"}`},
		"too large":     {string(bytes.Repeat([]byte(" "), maxConversionReview+1)), http.StatusRequestEntityTooLarge, "larger than"},
	} {
		code, answer := post(t, c.body)
		if code != c.code || !strings.Contains(answer, c.want) {
			t.Errorf("%s: %d %s, want %d with %q", name, code, answer, c.code, c.want)
		}
	}
}

// Proves: L-26 (any object is converted without error or panic, and its checked metadata stays).
func FuzzConversion(f *testing.F) {
	f.Add(`{"apiVersion":"llamastack.io/v1alpha1","kind":"LlamaStackDistribution","metadata":{"name":"a"},"spec":{"server":{}}}`, true)
	f.Add(`{"apiVersion":"llamastack.io/v1alpha2","metadata":{"annotations":{"llamastack.io/conversion":"{}"}},"spec":[]}`, false)
	f.Fuzz(func(t *testing.T, object string, forth bool) {
		var value map[string]any
		if kjson.UnmarshalCaseSensitivePreserveInts([]byte(object), &value) != nil || value == nil {
			return // requests of the API server contain only objects
		}
		from, to := "llamastack.io/v1alpha2", "llamastack.io/v1alpha1"
		if forth {
			from, to = to, from
		}
		value["apiVersion"] = from
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatalf("what was read as JSON cannot be written: %v", err)
		}
		if code, answer := post(t, reviewOf(to, string(text))); code != http.StatusOK || !strings.Contains(answer, `"result":{"status":"Success"}`) {
			t.Errorf("%d %s for %s", code, answer, text)
		}
	})
}
