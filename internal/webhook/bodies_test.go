// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// slowClient is a client whose request ends when the deadlines of its connection are over, as on a real one.
type slowClient struct {
	*httptest.ResponseRecorder
	body, written *io.PipeReader
	sending       *io.PipeWriter
	answer        *io.PipeWriter
	// reads says that the client reads the answer.
	reads bool
}

func newSlowClient(reads bool) *slowClient {
	c := &slowClient{ResponseRecorder: httptest.NewRecorder(), reads: reads}
	c.body, c.sending = io.Pipe()
	c.written, c.answer = io.Pipe()
	return c
}

func (c *slowClient) SetReadDeadline(at time.Time) error {
	time.AfterFunc(time.Until(at), func() { _ = c.body.CloseWithError(io.ErrUnexpectedEOF) })
	return nil
}

func (c *slowClient) SetWriteDeadline(at time.Time) error {
	time.AfterFunc(time.Until(at), func() { _ = c.written.CloseWithError(io.ErrClosedPipe) })
	return nil
}

func (c *slowClient) Write(p []byte) (int, error) {
	if c.reads || c.Code != http.StatusOK {
		return c.ResponseRecorder.Write(p)
	}
	return c.answer.Write(p)
}

// start sends so much of a body of a size, and then nothing.
func (c *slowClient) start(t *testing.T, all *sync.WaitGroup, i *Intake, review Kind, from string, size int64, part int) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", c.body)
	r.ContentLength, r.RemoteAddr = size, from+":1"
	all.Go(func() { i.Handler(review).ServeHTTP(c, r) })
	all.Go(func() { _, _ = io.WriteString(c.sending, strings.Repeat("x", part)) })
}

// Proves: R63 (who announces much and sends little, from one address or from many, keeps nobody waiting; nor who sends almost all of it, or
// reads no answer).
func TestIntakeGivesUpSlowClientsForOthers(t *testing.T) {
	review := kind(memoryForHuge, 10*time.Second, echo)
	for name, c := range map[string]struct {
		clients int
		size    int64
		part    int
		within  time.Duration
	}{
		"one byte of the largest":                   {200, memoryForHuge, 1, 0},
		"one byte of a large one":                   {200, largeReview, 1, 0},
		"a little more than a small one":            {200, memoryForHuge, smallReview + 1, 2 * time.Second},
		"a little more than a small one of a large": {200, largeReview, smallReview + 1, 3 * time.Second},
		"almost all of the largest":                 {2, memoryForHuge, memoryForHuge - 1, 3 * time.Second},
		"almost all of a large one":                 {20, largeReview, largeReview - 1, 3 * time.Second},
		"all of the largest, and read no answer":    {2, memoryForHuge, memoryForHuge, 3 * time.Second},
		"all of a large one, and read no answer":    {20, largeReview, largeReview, 3 * time.Second},
	} {
		for _, addresses := range []int{1, 250} {
			t.Run(fmt.Sprintf("%s, %d addresses", name, addresses), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					i := NewIntake()
					var all sync.WaitGroup
					for n := range c.clients {
						newSlowClient(false).start(t, &all, i, review, fmt.Sprintf("127.0.0.%d", n%addresses), c.size, c.part)
					}
					synctest.Wait()
					began := time.Now()
					size := min(c.size, 3<<20) // API servers send no larger object
					r, _ := sent(t, size, int(size))
					r.RemoteAddr = "10.0.0.1:1"
					got := answered(i, review, r)
					if took := time.Since(began); got.Code != http.StatusOK || took > c.within {
						t.Errorf("another review is answered %d after %s", got.Code, took)
					}
					all.Wait()
				})
			})
		}
	}
}

// Proves: R63 (bodies that come as fast as they can are all read, and wait for each other; a slow one ends by itself, where nobody needs
// its memory).
func TestIntakeGivesUpNobodyWithoutNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		review := kind(memoryForHuge, 10*time.Second, echo)
		i := NewIntake()
		var all sync.WaitGroup
		var ok atomic.Int64
		for range 30 {
			for _, size := range []int64{largeReview, memoryForHuge / 4, memoryForHuge} {
				all.Go(func() {
					r, _ := sent(t, size, int(size))
					if answered(i, review, r).Code == http.StatusOK {
						ok.Add(1)
					}
				})
			}
		}
		all.Wait()
		if ok.Load() < 45 { // those that stand half-read in each other's way are told to come again: how many, the scheduler decides
			t.Errorf("%d of 90 are answered", ok.Load())
		}
		lone := newSlowClient(true)
		began := time.Now()
		lone.start(t, &all, i, review, "127.0.0.1", largeReview, 100_000)
		all.Wait()
		if took := time.Since(began); lone.Code != http.StatusBadRequest || took != bodyTimeout {
			t.Errorf("a slow body that is in nobody's way is answered %d after %s", lone.Code, took)
		}
		for _, m := range []*memory{i.largeBodies, i.hugeBodies} {
			if m.used != 0 || len(m.open) != 0 {
				t.Errorf("%d bytes of %d requests are left", m.used, len(m.open))
			}
		}
	})
}
