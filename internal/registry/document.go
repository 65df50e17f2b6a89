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
	// documentBytes bounds all manifests, configurations of images and tokens of one question together. Manifests of
	// images are a few kilobytes; a label with a configuration of the largest size in base64 has 1.34 MB, and some
	// builders write each label twice.
	documentBytes = 2816 << 10
	// documentNodes is how many values each of them may have, and documentLevels how deep it may nest: a value of a list
	// becomes up to 400 bytes. An image of 127 layers, the most that a node mounts, has some 600 values in its manifest
	// and some 2,000 in its configuration.
	documentNodes  = 10_000
	documentLevels = 32
	// failureBytes is how much is read of an answer that reports a failure: the library reads no more.
	failureBytes = 64 << 10
	// maxDecoding is how many questions may decode at once what they have received.
	maxDecoding = 2
)

// scan refuses a document that would need much more memory than it has bytes. It shows nothing of it.
func scan(document []byte) error {
	_, excess := limits.Scan(document, limits.Limits{Bytes: documentBytes, Levels: documentLevels, Nodes: documentNodes})
	if excess != nil {
		return own(errTooLarge, "it has more than %d %s", excess.Limit, excess.Unit)
	}
	return nil
}

// failure is a short answer that reports a failure. One that no decoder should see is empty: the status says enough.
func failure(body io.ReadCloser) io.ReadCloser {
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(io.LimitReader(body, failureBytes))
	if err != nil || scan(content) != nil {
		content = nil
	}
	return io.NopCloser(bytes.NewReader(content))
}

// document reads a whole document, measures it, and waits until it may be decoded. What is wrong is the error of the
// body that it returns: so it is an error about content as any other.
func (t *roundTripper) document(ctx context.Context, body *limitedBody) io.ReadCloser {
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(body)
	t.spend(len(content))
	if err == nil {
		err = scan(content)
	}
	if err == nil {
		err = t.beginDecoding(ctx)
	}
	if err != nil {
		return failedBody{err}
	}
	return io.NopCloser(bytes.NewReader(content))
}

// failedBody is an answer that cannot be used.
type failedBody struct{ err error }

func (b failedBody) Read([]byte) (int, error) { return 0, b.err }

func (failedBody) Close() error { return nil }

// spend takes what was read from what the question may read.
func (t *roundTripper) spend(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.documents += int64(n)
}

// beginDecoding waits for a place among those who decode. The library decodes between two requests: so the next
// request, or the end of the question, gives the place back, and nobody has one who waits for a registry.
func (t *roundTripper) beginDecoding(ctx context.Context) error {
	select {
	case t.decoding <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.decodes { // the library pings with two schemes at once, and does not wait for the slower one
		<-t.decoding
		return nil
	}
	t.decodes = true
	return nil
}

func (t *roundTripper) endDecoding() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.decodes {
		<-t.decoding
		t.decodes = false
	}
}

// end ends the question: nothing is decoded afterwards.
func (t *roundTripper) end() {
	t.endDecoding()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

// bounded is an answer whose body is bounded: a layer as it arrives, all else as a whole.
func (t *roundTripper) bounded(request *http.Request, response *http.Response) (*http.Response, error) {
	if response.StatusCode >= http.StatusBadRequest {
		response.Body = failure(response.Body)
		return response, nil
	}
	limit, layer := t.limit()
	if response.ContentLength > limit && request.Method != http.MethodHead {
		_ = response.Body.Close()
		return nil, own(errTooLarge, "%d bytes where at most %d are read", response.ContentLength, limit)
	}
	limited := &limitedBody{ReadCloser: response.Body, left: limit}
	response.Body = limited
	if !layer && response.StatusCode == http.StatusOK && request.Method != http.MethodHead {
		response.Body = t.document(request.Context(), limited)
	}
	return response, nil
}
