// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

const (
	// documentBytes bounds all manifests, configurations and tokens of one operation. A label with the largest
	// configuration in base64 has 1.34 MB, and some builders write each label twice.
	documentBytes = 2816 << 10
	// documentNodes and documentLevels bound the values and nesting of one document; a list item takes up to 400 bytes of
	// memory. An image of 127 layers has about 600 values in its manifest and 2,000 in its configuration.
	documentNodes  = 10_000
	documentLevels = 32
	// failureBytes is how much of an error response is read; the library reads no more.
	failureBytes = 64 << 10
	// maxDecoding is the number of operations that may decode at once.
	maxDecoding = 2
)

// scan rejects a document with too many values or levels. Its errors never quote the document.
func scan(document []byte) error {
	_, excess := limits.Scan(document, limits.Limits{Bytes: documentBytes, Levels: documentLevels, Nodes: documentNodes})
	if excess != nil {
		return newSafeError(errTooLarge, "it has more than %d %s", excess.Limit, excess.Unit)
	}
	return nil
}

// errorResponse returns the start of an error response, or an empty body if it cannot be decoded safely.
func errorResponse(body io.ReadCloser) io.ReadCloser {
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(io.LimitReader(body, failureBytes))
	if err != nil || scan(content) != nil {
		content = nil
	}
	return io.NopCloser(bytes.NewReader(content))
}

// document reads and scans a whole document, then waits for a decoding slot. Errors are returned by the body's Read.
func (t *roundTripper) document(ctx context.Context, body *limitedBody) io.ReadCloser {
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(body)
	t.addDocument(len(content))
	if err == nil {
		err = scan(content)
	}
	if err == nil {
		err = t.beginDecoding(ctx)
	}
	if err != nil {
		return errorBody{err}
	}
	return io.NopCloser(bytes.NewReader(content))
}

type errorBody struct{ err error }

func (b errorBody) Read([]byte) (int, error) { return 0, b.err }

func (errorBody) Close() error { return nil }

func (t *roundTripper) addDocument(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.documents += int64(n)
}

// beginDecoding waits for a decoding slot. The next request or the end of the operation releases it, so that no slot is
// held while waiting for a registry.
func (t *roundTripper) beginDecoding(ctx context.Context) error {
	select {
	case t.decoding <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.holdsSlot { // the library may ping with two schemes at once
		<-t.decoding
		return nil
	}
	t.holdsSlot = true
	return nil
}

func (t *roundTripper) endDecoding() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.holdsSlot {
		<-t.decoding
		t.holdsSlot = false
	}
}

// end ends the operation; nothing is decoded after it.
func (t *roundTripper) end() {
	t.endDecoding()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

// bounded limits the body of a response: layers are streamed, other documents are read at once.
func (t *roundTripper) bounded(request *http.Request, response *http.Response) (*http.Response, error) {
	if response.StatusCode >= http.StatusBadRequest {
		response.Body = errorResponse(response.Body)
		return response, nil
	}
	limit, layer := t.limit()
	if response.ContentLength > limit && request.Method != http.MethodHead {
		_ = response.Body.Close()
		return nil, newSafeError(errTooLarge, "%d bytes exceed the limit of %d", response.ContentLength, limit)
	}
	limited := &limitedBody{ReadCloser: response.Body, left: limit}
	response.Body = limited
	if !layer && response.StatusCode == http.StatusOK && request.Method != http.MethodHead {
		response.Body = t.document(request.Context(), limited)
	}
	return response, nil
}
