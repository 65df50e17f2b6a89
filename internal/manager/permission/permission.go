// SPDX-License-Identifier: Apache-2.0

package permission

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

const (
	// maxDecisions bounds the cached decisions, and the times are their lifetimes.
	maxDecisions = 256
	allowedTime  = time.Minute
	deniedTime   = 10 * time.Second
	// reviewTimeout bounds both requests to the API server together.
	reviewTimeout = 10 * time.Second
	// maxToken is the longest accepted token in bytes.
	maxToken = 16 << 10
)

// Reviewer authorizes clients by reviews of the API server; it needs permission to create TokenReviews and
// SubjectAccessReviews.
type Reviewer struct {
	tokens    authenticationclient.TokenReviewInterface
	accesses  authorizationclient.SubjectAccessReviewInterface
	decisions *cache.LRUExpireCache // decisionKey to HTTP status
}

// decisionKey is the key of a decision.
type decisionKey struct {
	token      [sha256.Size]byte
	verb, path string
}

// New returns a Reviewer, without a request.
func New(config *rest.Config, httpClient *http.Client) (*Reviewer, error) {
	authentication, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("create the client for TokenReviews: %w", err)
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("create the client for SubjectAccessReviews: %w", err)
	}
	return &Reviewer{authentication.TokenReviews(), authorization.SubjectAccessReviews(),
		cache.NewLRUExpireCache(maxDecisions)}, nil
}

// Authorize returns a handler that authorizes the URL's path with the lower-case method as verb, and then calls next.
func (r *Reviewer) Authorize(log logr.Logger, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		status, err := r.decide(request)
		if err != nil {
			log.Error(err, "cannot authorize a request", "path", request.URL.Path)
			status = http.StatusInternalServerError
		}
		if status != http.StatusOK {
			http.Error(w, http.StatusText(status), status)
			return
		}
		next.ServeHTTP(w, request)
	})
}

// decide returns the HTTP status: 200 if the request is authorized.
func (r *Reviewer) decide(request *http.Request) (int, error) {
	scheme, token, _ := strings.Cut(request.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" || len(token) > maxToken {
		return http.StatusUnauthorized, nil
	}
	q := decisionKey{sha256.Sum256([]byte(token)), strings.ToLower(request.Method), request.URL.Path}
	if known, found := r.decisions.Get(q); found {
		return known.(int), nil
	}
	ctx, cancel := context.WithTimeout(request.Context(), reviewTimeout)
	defer cancel()
	status, err := r.review(ctx, token, q)
	if err != nil {
		return 0, err
	}
	lifetime := deniedTime
	if status == http.StatusOK {
		lifetime = allowedTime
	}
	r.decisions.Add(q, status, lifetime)
	return status, nil
}

func (r *Reviewer) review(ctx context.Context, token string, q decisionKey) (int, error) {
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
	known, err := r.tokens.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("TokenReview: %w", err)
	}
	if !known.Status.Authenticated {
		return http.StatusUnauthorized, nil
	}
	user := known.Status.User
	extra := make(map[string]authorizationv1.ExtraValue, len(user.Extra))
	for key, value := range user.Extra {
		extra[key] = authorizationv1.ExtraValue(value)
	}
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: q.path, Verb: q.verb},
	}
	access, err := r.accesses.Create(ctx, &authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return 0, fmt.Errorf("SubjectAccessReview: %w", err)
	}
	if !access.Status.Allowed {
		return http.StatusForbidden, nil
	}
	return http.StatusOK, nil
}
