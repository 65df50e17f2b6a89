// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"io"
	"net/http"
	"slices"
	"time"
)

const (
	// growth is by how much the memory of a body grows when it is full.
	growth = 4
	// answerPiece is how much of an answer is written before it is noted that the client has read it.
	answerPiece = 64 << 10
)

// longAgo is a deadline that ends what waits at once.
var longAgo = time.Unix(1, 0)

// transfer moves the body and the answer of one request.
type transfer struct {
	control *http.ResponseController
	share   *share
}

// read reads a body, and takes memory for what is more than a small one as it comes.
func (t *transfer) read(turn context.Context, from io.Reader, size int64) ([]byte, *refusal) {
	_ = t.control.SetReadDeadline(time.Now().Add(bodyTimeout)) // recorders of tests have none
	body := make([]byte, 0, min(size, smallReview))
	for int64(len(body)) < size {
		if len(body) == cap(body) {
			more, failed := t.more(turn, min(size, growth*int64(cap(body))))
			if failed != nil {
				return nil, failed
			}
			body = append(more, body...)
		}
		n, err := from.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		t.share.add(n)
		if err != nil && int64(len(body)) < size {
			if t.share.givenUp() {
				return nil, busy
			}
			return nil, &refusal{http.StatusBadRequest, "the review could not be read"}
		}
	}
	t.share.received()
	return body, nil
}

// more waits for memory.
func (t *transfer) more(turn context.Context, size int64) ([]byte, *refusal) {
	began := time.Now()
	if t.share.grow(turn, size) != nil {
		return nil, busy
	}
	if time.Since(began) >= recheck { // the client could not send meanwhile
		_ = t.control.SetReadDeadline(time.Now().Add(bodyTimeout))
		if t.share.givenUp() { // by another one, before the new deadline
			return nil, busy
		}
	}
	return make([]byte, 0, size), nil
}

// write writes an answer. Who does not wait for it asks again.
func (t *transfer) write(to io.Writer, answer []byte) {
	_ = t.control.SetWriteDeadline(time.Now().Add(answerTimeout)) // recorders of tests have none
	held := int64(0)
	if len(answer) > smallReview {
		held = int64(len(answer))
	}
	t.share.replace(held, func() { _ = t.control.SetWriteDeadline(longAgo) })
	for piece := range slices.Chunk(answer, answerPiece) {
		if _, err := to.Write(piece); err != nil {
			return
		}
		t.share.add(len(piece))
	}
}
