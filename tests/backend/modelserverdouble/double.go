// SPDX-License-Identifier: Apache-2.0

package modelserverdouble

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
)

const (
	// maxBody bounds a request's body, in bytes.
	maxBody = 1 << 20
	// maxRequests bounds the recorded requests; the oldest are dropped first.
	maxRequests = 1000
)

// Config has the models and the key of a Double.
type Config struct {
	// Models are the ids of the served models, at least one.
	Models []string
	// Key is the bearer key for all paths under /v1, not empty unless the Double is open.
	Key string
	// Open means that no request needs a key.
	Open bool
}

// Request is a recorded request under /v1.
type Request struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	// Model is the requested model of a chat completion or an embedding.
	Model string `json:"model,omitempty"`
	// Stream reports whether a chat completion requested a stream.
	Stream bool `json:"stream,omitempty"`
	// KeyMatched reports whether the request had the right key, or needed none.
	KeyMatched bool `json:"keyMatched"`
	// KeyHash is the first 8 hexadecimal digits of the SHA-256 of the received key, or empty without a key.
	KeyHash string `json:"keyHash,omitempty"`
}

// Double is an http.Handler that answers like a model server and records the requests. It is safe for concurrent use.
type Double struct {
	config Config
	mux    *http.ServeMux

	mu       sync.Mutex
	requests []Request
}

// New returns a Double, or an error if the Config is invalid.
func New(config Config) (*Double, error) {
	if len(config.Models) == 0 || slices.Contains(config.Models, "") {
		return nil, errors.New("model server double: at least one model is needed, and none may be empty")
	}
	if (config.Key == "") != config.Open {
		return nil, errors.New("model server double: it needs a key, or is open")
	}
	d := &Double{config: config, mux: http.NewServeMux()}
	d.mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	d.mux.HandleFunc("GET /double/requests", d.listRequests)
	d.mux.HandleFunc("DELETE /double/requests", d.forgetRequests)
	d.mux.HandleFunc("GET /v1/models", d.authenticated(d.listModels))
	d.mux.HandleFunc("POST /v1/chat/completions", d.authenticated(d.complete))
	d.mux.HandleFunc("POST /v1/embeddings", d.authenticated(d.embed))
	return d, nil
}

// ServeHTTP implements http.Handler.
func (d *Double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mux.ServeHTTP(w, r)
}

// Requests returns the recorded requests, oldest first, including refused ones.
func (d *Double) Requests() []Request {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.requests)
}

func (d *Double) remember(request Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.requests) == maxRequests {
		d.requests = d.requests[1:]
	}
	d.requests = append(d.requests, request)
}

func (d *Double) listRequests(w http.ResponseWriter, _ *http.Request) {
	requests := d.Requests()
	if requests == nil {
		requests = []Request{}
	}
	writeJSON(w, http.StatusOK, map[string]any{"requests": requests})
}

func (d *Double) forgetRequests(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests = nil
	w.WriteHeader(http.StatusNoContent)
}

// authenticated records and refuses requests without the right key, and passes other requests with their record to
// next.
func (d *Double) authenticated(next func(http.ResponseWriter, *http.Request, Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		request := Request{
			Method:     r.Method,
			Path:       r.URL.Path,
			KeyMatched: d.config.Open || subtle.ConstantTimeCompare([]byte(key), []byte(d.config.Key)) == 1,
			KeyHash:    keyHash(key),
		}
		if !request.KeyMatched {
			d.remember(request)
			writeError(w, http.StatusUnauthorized, "invalid_api_key", "the API key is missing or wrong")
			return
		}
		next(w, r, request)
	}
}

func keyHash(key string) string {
	if key == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:4])
}

func (d *Double) listModels(w http.ResponseWriter, _ *http.Request, request Request) {
	d.remember(request)
	models := make([]map[string]any, 0, len(d.config.Models))
	for _, id := range d.config.Models {
		models = append(models, map[string]any{"id": id, "object": "model", "created": 0, "owned_by": "model-server-double"})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": models})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client may have disconnected.
	_ = json.NewEncoder(w).Encode(body)
}

// writeError writes an error as the OpenAI API does, which clients map to their error types.
func writeError(w http.ResponseWriter, status int, code, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]any{
		"message": message, "type": "invalid_request_error", "param": nil, "code": code,
	}})
}
