// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr/funcr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"
)

// reviewsDouble is a fake API server: token "good" may get /metrics, "other" may not, and "broken" fails.
func reviewsDouble(t *testing.T, asked *atomic.Int32) *Reviewer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		var answer any
		switch {
		case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
			review := &authenticationv1.TokenReview{}
			if err := json.NewDecoder(r.Body).Decode(review); err != nil {
				t.Error(err)
			}
			if review.Spec.Token == "broken" {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			review.Status.Authenticated = review.Spec.Token == "good" || review.Spec.Token == "other"
			review.Status.User = authenticationv1.UserInfo{Username: review.Spec.Token, Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}
			answer = review
		default:
			review := &authorizationv1.SubjectAccessReview{}
			if err := json.NewDecoder(r.Body).Decode(review); err != nil {
				t.Error(err)
			}
			s := review.Spec
			review.Status.Allowed = s.User == "good" && fmt.Sprint(s.Groups, s.Extra, *s.NonResourceAttributes) == "[g] map[k:[v]] {/metrics get}"
			answer = review
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	r, err := New(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Proves: R63, R71 (decisions are cached, failures are not, and no token is logged).
func TestOnlyAuthorizedClientsAreServed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		method, authorization string
		status                int
		// asked is the number of reviews for two requests.
		asked int32
	}{
		"nothing":            {"GET", "", 401, 0},
		"a password":         {"GET", "Basic Z29vZA==", 401, 0},
		"an empty token":     {"GET", "Bearer  ", 401, 0},
		"an endless token":   {"GET", "Bearer " + strings.Repeat("x", maxToken+1), 401, 0},
		"an unknown token":   {"GET", "Bearer unknown", 401, 1},
		"who may not":        {"GET", "Bearer other", 403, 2},
		"who may":            {"GET", "Bearer good", 200, 2},
		"the scheme is free": {"GET", "bearer good", 200, 2},
		"another verb":       {"POST", "Bearer good", 403, 2},
		"a failure":          {"GET", "Bearer broken", 500, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int32
			var log strings.Builder
			handler := reviewsDouble(t, &asked).Authorize(
				funcr.New(func(_, line string) { log.WriteString(line) }, funcr.Options{}),
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "served") }),
			)
			for range 2 {
				answer, request := httptest.NewRecorder(), httptest.NewRequest(c.method, "/metrics", http.NoBody)
				request.Header.Set("Authorization", c.authorization)
				handler.ServeHTTP(answer, request)
				if answer.Code != c.status || (answer.Body.String() == "served") != (c.status == 200) {
					t.Errorf("%d %q, want %d", answer.Code, answer.Body, c.status)
				}
			}
			if got := asked.Load(); got != c.asked {
				t.Errorf("the API server was asked %d times, want %d", got, c.asked)
			}
			if (log.Len() > 0) != (c.status == 500) || strings.Contains(log.String(), "broken") {
				t.Errorf("log: %s", log.String())
			}
		})
	}
}
