// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// validate posts a review and returns the response.
func validate(t *testing.T, body string, asked *int) (int, *admissionv1.AdmissionResponse, string) {
	t.Helper()
	v := &Validation{Gather: func(_ context.Context, cr *v1alpha2.LlamaStackDistribution) (*build.Inputs, problem.List) {
		*asked++
		known, err := settings.Parse(nil)
		if err != nil {
			t.Fatal(err)
		}
		if cr.Namespace != "ai" {
			t.Errorf("namespace %q", cr.Namespace)
		}
		distribution, f := known.ResolveWithHints(&cr.Spec.Distribution, build.Hints(build.NewInputs(cr), ""))
		in := build.NewInputs(cr)
		in.Distribution = distribution
		if f != nil {
			return in, problem.List{*f}
		}
		return in, nil
	}}
	recorder := httptest.NewRecorder()
	NewIntake().Handler(v.Kind()).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, ValidationPath, strings.NewReader(body)))
	var review admissionv1.AdmissionReview
	if recorder.Code == http.StatusOK {
		if err := json.Unmarshal(recorder.Body.Bytes(), &review); err != nil {
			t.Fatal(err)
		}
		if review.Kind != "AdmissionReview" || review.APIVersion != "admission.k8s.io/v1" || review.Response == nil || review.Response.UID != "u-1" || review.Request != nil {
			t.Fatalf("no answer to the review: %s", recorder.Body)
		}
	}
	return recorder.Code, review.Response, recorder.Body.String()
}

func reviewFor(version, object, old string) string {
	if old == "" {
		old = "null"
	}
	return fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1","namespace":"ai",
		"kind":{"group":"llamastack.io","version":"v1alpha2","kind":"LlamaStackDistribution"},
		"requestKind":{"group":"llamastack.io","version":%q,"kind":"LlamaStackDistribution"},"object":%s,"oldObject":%s}}`, version, object, old)
}

func objectWith(spec string) string {
	return `{"apiVersion":"llamastack.io/v1alpha2","kind":"LlamaStackDistribution","metadata":{"name":"s"},"spec":` + spec + `}`
}

// Proves: FR-075, NFR-004, R52, R57 (responses to the API server, and requests that need no lookup).
func TestValidation(t *testing.T) {
	right, wrong := objectWith(`{"distribution":{"name":"starter"}}`), objectWith(`{"distribution":{"name":"startr"}}`)
	for name, c := range map[string]struct {
		body    string
		allowed bool
		asked   int
		want    string
	}{
		"right":                      {reviewFor("v1alpha2", right, ""), true, 1, ""},
		"wrong":                      {reviewFor("v1alpha2", wrong, ""), false, 1, `LlamaStackDistribution.llamastack.io \"s\" is invalid: spec.distribution.name: Unsupported value: `},
		"wrong in v1alpha1":          {reviewFor("v1alpha1", wrong, ""), true, 1, `"warnings":["in terms of v1alpha2: spec.distribution.name: Unsupported value: `},
		"wrong as before":            {reviewFor("v1alpha2", wrong, wrong), true, 0, ""},
		"wrong from now on":          {reviewFor("v1alpha2", wrong, right), false, 1, `"field":"spec.distribution.name"`},
		"of another version":         {reviewFor("v1alpha2", strings.Replace(wrong, "v1alpha2", "v1alpha3", 1), ""), true, 0, ""},
		"what the types cannot hold": {reviewFor("v1alpha2", objectWith(`{"distribution":{"name":7}}`), ""), true, 0, ""},
		"nothing":                    {reviewFor("v1alpha2", "null", right), true, 0, ""},
	} {
		asked := 0
		code, response, body := validate(t, c.body, &asked)
		if code != http.StatusOK || response.Allowed != c.allowed || asked != c.asked || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d, asked %d times: %s", name, code, asked, body)
		}
		if !c.allowed && (response.Result.Code != http.StatusUnprocessableEntity || len(response.Result.Details.Causes) != 1) {
			t.Errorf("%s: %+v", name, response.Result)
		}
	}
}

// Proves: R63, R52 (an object of v1alpha1 is admitted with a warning).
func TestValidationRefusesTooManyValues(t *testing.T) {
	volumes := objectWith(`{"distribution":{"name":"starter"},"workload":{"overrides":{"volumes":[` + strings.Repeat("{},", 1<<20) + `{}]}}}`)
	for version, allowed := range map[string]bool{"v1alpha2": false, "v1alpha1": true} {
		asked := 0
		code, response, body := validate(t, reviewFor(version, volumes, ""), &asked)
		if code != http.StatusOK || response.Allowed != allowed || asked != 0 || !strings.Contains(body, "values") {
			t.Errorf("%s: %d, asked %d times: %.300s", version, code, asked, body)
		}
	}
}

func TestValidationRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		code int
		want string
	}{
		"no JSON":         {"x", http.StatusBadRequest, "expected an AdmissionReview of admission.k8s.io/v1"},
		"another version": {strings.Replace(reviewFor("v", "null", ""), "k8s.io/v1", "k8s.io/v2", 1), http.StatusBadRequest, "expected an AdmissionReview"},
		"no request":      {`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`, http.StatusBadRequest, "with a request"},
		"too large":       {string(bytes.Repeat([]byte(" "), maxAdmissionReview+1)), http.StatusRequestEntityTooLarge, "larger than"},
	} {
		asked := 0
		if code, _, body := validate(t, c.body, &asked); code != c.code || !strings.Contains(body, c.want) || asked != 0 {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
}

// Proves: R63 (decoders also accept other spellings of "spec", which an API server never sends).
func TestValidationMeasuresDecodedSize(t *testing.T) {
	small := `"spec":{"distribution":{"name":"starter"}}`
	volumes := func(name string) string {
		return `"` + name + `":{"distribution":{"name":"starter"},"workload":{"overrides":{"volumes":[` + strings.Repeat("{},", 200_000) + `{}]}}}`
	}
	object := func(fields ...string) string {
		return `{"apiVersion":"llamastack.io/v1alpha2","kind":"LlamaStackDistribution","metadata":{"name":"s"},` + strings.Join(fields, ",") + `}`
	}
	right := object(small)
	for name, c := range map[string]struct {
		body string
		code int
		want string
	}{
		"twice":                       {reviewFor("v1alpha2", object(small, volumes("spec")), ""), http.StatusBadRequest, "duplicate spec"},
		"twice, the large one before": {reviewFor("v1alpha2", object(volumes("spec"), small), ""), http.StatusBadRequest, "duplicate spec"},
		"in other case":               {reviewFor("v1alpha2", object(volumes("SPEC")), ""), http.StatusBadRequest, "duplicate spec"},
		"with escapes":                {reviewFor("v1alpha2", object(small, volumes(`sp\u0065c`)), ""), http.StatusBadRequest, "duplicate spec"},
		"in the old object":           {reviewFor("v1alpha2", right, object(small, volumes("Spec"))), http.StatusBadRequest, "duplicate spec"},
		"of a second object": {
			strings.Replace(reviewFor("v1alpha2", right, ""), `"oldObject"`, `"object":`+object(volumes("spec"))+`,"oldObject"`, 1), http.StatusOK, "100000 values",
		},
		"of an object with escapes": {
			strings.Replace(reviewFor("v1alpha2", right, ""), `"oldObject"`, `"obj\u0065ct":`+object(volumes("spec"))+`,"oldObject"`, 1), http.StatusOK, "100000 values",
		},
	} {
		asked := 0
		code, _, body := validate(t, c.body, &asked)
		if code != c.code || !strings.Contains(body, c.want) || asked != 0 {
			t.Errorf("%s: %d, asked %d times: %.300s", name, code, asked, body)
		}
	}
}

// nested returns a JSON value with this many levels.
func nested(levels int) string {
	return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
}

// Proves: R63 (a large object is refused before it is decoded with the path, and a stored one can still be edited).
func TestValidationRejectsTooLargeObjects(t *testing.T) {
	withProvider := func(value string) string {
		return objectWith(`{"distribution":{"name":"starter"},"providers":{"inference":` + value + `}}`)
	}
	stored := withProvider(nested(limits.StoredLevels - 3))
	right := objectWith(`{"distribution":{"name":"starter"}}`)
	leaving := strings.Replace(stored, `"name":"s"`, `"name":"s","deletionTimestamp":"2026-01-01T00:00:00Z"`, 1)
	for name, c := range map[string]struct {
		body    string
		allowed bool
		want    string
	}{
		"as deep as may be":         {reviewFor("v1alpha2", withProvider(nested(limits.OpenFieldLevels)), ""), false, "spec.providers.inference.a: Invalid value: unknown field"},
		"one level more":            {reviewFor("v1alpha2", withProvider(nested(limits.OpenFieldLevels+1)), ""), false, "must nest at most 64 levels"},
		"as deep as can be stored":  {reviewFor("v1alpha2", stored, ""), false, `spec.providers.inference.a.a.a.a.a.a…: Invalid value: must nest at most 64 levels`},
		"wide":                      {reviewFor("v1alpha2", withProvider("["+strings.Repeat("[],", 300_000)+"[]]"), ""), false, "its open fields 20000"},
		"stored already, unchanged": {reviewFor("v1alpha2", stored, stored), true, ""},
		"stored already, fixed":     {reviewFor("v1alpha2", right, stored), true, ""},
		"stored already, leaving":   {reviewFor("v1alpha2", leaving, stored), true, ""},
		"through v1alpha1":          {reviewFor("v1alpha1", stored, ""), true, "in terms of v1alpha2: spec.providers"},
	} {
		asked := 0
		code, response, body := validate(t, c.body, &asked)
		if code != http.StatusOK || response.Allowed != c.allowed || !strings.Contains(body, c.want) || len(body) > 8<<10 {
			t.Errorf("%s: %d %.2000s", name, code, body)
		}
	}
}

// Proves: R63.
func FuzzValidation(f *testing.F) {
	f.Add(reviewFor("v1alpha2", objectWith(`{"distribution":{"name":"starter"}}`), ""))
	f.Add(reviewFor("v1alpha2", objectWith(nested(70)), objectWith(nested(80))))
	f.Add(`{"request":{"object":{"spec":[`)
	known, err := settings.Parse(nil)
	if err != nil {
		f.Fatal(err)
	}
	v := &Validation{Gather: func(_ context.Context, cr *v1alpha2.LlamaStackDistribution) (*build.Inputs, problem.List) {
		distribution, wrong := known.ResolveWithHints(&cr.Spec.Distribution, build.Hints(build.NewInputs(cr), ""))
		if wrong != nil {
			return build.NewInputs(cr), problem.List{*wrong}
		}
		in := build.NewInputs(cr)
		in.Distribution = distribution
		return in, nil
	}}
	f.Fuzz(func(t *testing.T, body string) {
		sent, err := v.read([]byte(body))
		if err != nil || sent.Memory() > memoryForDecoded {
			return // refused before it is decoded
		}
		answer, err := sent.Result(t.Context())
		var review admissionv1.AdmissionReview
		if err != nil || json.Unmarshal(answer, &review) != nil || review.Response == nil {
			t.Errorf("no answer to the review: %v %s", err, answer)
		}
	})
}

// Proves: R64, L-01 (live settings decide a refusal; errors of settings or lookups are admitted).
func TestValidationReadsLiveBeforeRejecting(t *testing.T) {
	const body = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u-1","namespace":"ai","name":"a",
		"kind":{"group":"llamastack.io","version":"v1alpha2","kind":"LlamaStackDistribution"},
		"object":{"apiVersion":"llamastack.io/v1alpha2","kind":"LlamaStackDistribution","metadata":{"name":"a"},"spec":{"distribution":{"name":"mine"},
			"providers":{"inference":{"provider":"vllm","endpointFrom":{"kind":"Service","name":"m","namespace":"models"}}}}}}}`
	by := func(t *testing.T, data map[string]string, failed *problem.Problem, calls *int) Gather {
		t.Helper()
		known, err := settings.Parse(data)
		if err != nil {
			t.Fatal(err)
		}
		return func(_ context.Context, cr *v1alpha2.LlamaStackDistribution) (*build.Inputs, problem.List) {
			*calls++
			in := build.NewInputs(cr)
			if failed != nil {
				return in, problem.List{*failed}
			}
			var p *problem.Problem
			in.Distribution, p = known.ResolveWithHints(&cr.Spec.Distribution, build.Hints(build.NewInputs(cr), ""))
			if p != nil {
				return in, problem.List{*p}
			}
			in.AssumeEndpointsFound(&known.EndpointFrom)
			return in, nil
		}
	}
	const mine = "mine:\n  image: registry.example/mine:1\n  serverVersion: 0.7.1\n"
	shut := map[string]string{settings.KeyDistributions: mine}
	registered := map[string]string{settings.KeyDistributions: mine, settings.KeyEndpointFrom: "namespaces: [models]"}
	away := problem.New(problem.Problem{Reason: problem.LookupFailed, Path: "operator settings", Detail: "could not be read", Fix: "retrying"})
	broken := problem.New(problem.Problem{Reason: problem.InvalidOperatorSettings, Path: "operator settings", Detail: "is broken", Fix: "correct it"})
	for name, c := range map[string]struct {
		cached, live map[string]string
		failed       *problem.Problem
		allowed      bool
		calls        int
	}{
		"registered a moment ago":  {nil, registered, nil, true, 1},
		"registered":               {registered, registered, nil, true, 0},
		"removed a moment ago":     {registered, nil, nil, true, 0},
		"unknown":                  {nil, nil, nil, false, 1},
		"allowed a moment ago":     {shut, registered, nil, true, 1},
		"not allowed":              {shut, shut, nil, false, 1},
		"API server away":          {nil, nil, away, true, 1},
		"wrong for another reason": {nil, nil, broken, true, 1},
	} {
		cached, live := 0, 0
		v := &Validation{Gather: by(t, c.cached, nil, &cached), GatherLive: by(t, c.live, c.failed, &live)}
		recorder := httptest.NewRecorder()
		NewIntake().Handler(v.Kind()).ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodPost, ValidationPath, strings.NewReader(body)))
		if got := strings.Contains(recorder.Body.String(), `"allowed":true`); got != c.allowed || cached != 1 || live != c.calls {
			t.Errorf("%s: asked %d times of the cache and %d of the API server: %s", name, cached, live, recorder.Body)
		}
	}
}
