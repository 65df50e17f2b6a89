// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
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

// body counts the bytes that are read.
type body struct {
	io.Reader
	read atomic.Int64
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read.Add(int64(n))
	return n, err
}

// newRequest returns a request with a body of this size; a negative size means chunked.
func newRequest(t *testing.T, length int64, actual int) (*http.Request, *body) {
	t.Helper()
	b := &body{Reader: strings.NewReader(strings.Repeat("x", actual))}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", b)
	r.ContentLength = length
	return r, b
}

// review is a fake Review.
type review struct {
	memory int64
	answer func() ([]byte, error)
}

func (r review) Memory() int64 { return r.memory }

func (r review) Result(context.Context) ([]byte, error) { return r.answer() }

func (r review) Reject(reason string) ([]byte, error) { return []byte("refused: " + reason), nil }

// kind returns a Kind with a fixed response.
func kind(maxBytes int64, wait time.Duration, answer func(body []byte) ([]byte, error)) Kind {
	return Kind{MaxBytes: maxBytes, Wait: wait, Read: func(body []byte) (Review, error) {
		return review{memory: int64(len(body)), answer: func() ([]byte, error) { return answer(body) }}, nil
	}}
}

func handle(i *Intake, review Kind, r *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	i.Handler(review).ServeHTTP(recorder, r)
	return recorder
}

func echo(body []byte) ([]byte, error) { return body, nil }

// Proves: R63 (a body is not read if its length is too large or unknown).
func TestIntakeBoundsBodies(t *testing.T) {
	review := kind(1000, time.Second, echo)
	for name, c := range map[string]struct {
		length     int64
		actual     int
		code, read int
	}{
		"as large as may be":            {1000, 1000, http.StatusOK, 1000},
		"too large":                     {1001, 1001, http.StatusRequestEntityTooLarge, 0},
		"in chunks":                     {-1, 1000, http.StatusLengthRequired, 0},
		"less than it says":             {1000, 10, http.StatusBadRequest, 10},
		"empty":                         {0, 0, http.StatusOK, 0},
		"more than the process can say": {1 << 62, 10, http.StatusRequestEntityTooLarge, 0},
	} {
		r, b := newRequest(t, c.length, c.actual)
		got := handle(NewIntake(), review, r)
		if got.Code != c.code || b.read.Load() > int64(c.read) {
			t.Errorf("%s: %d %q after %d bytes, want %d after %d", name, got.Code, got.Body, b.read.Load(), c.code, c.read)
		}
		if c.code == http.StatusRequestEntityTooLarge && !strings.Contains(got.Body.String(), "larger than 1000 bytes") {
			t.Errorf("%s: %s", name, got.Body)
		}
	}
}

// Proves: R63 (reviews are decoded one at a time; others wait, and a wait over the limit is refused with a retry).
func TestIntakeDecodesFewAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int64
		held := make(chan struct{})
		review := kind(1000, 10*time.Second, func(body []byte) ([]byte, error) {
			n := now.Add(1)
			defer now.Add(-1)
			if n > most.Load() {
				most.Store(n)
			}
			<-held
			return body, nil
		})
		i := NewIntake()
		var all sync.WaitGroup
		var ok atomic.Int64
		for range 20 {
			r, _ := newRequest(t, 10, 10)
			all.Go(func() {
				if handle(i, review, r).Code == http.StatusOK {
					ok.Add(1)
				}
			})
		}
		synctest.Wait()
		r, _ := newRequest(t, 10, 10)
		impatient := review
		impatient.Wait = time.Second
		got := handle(i, impatient, r)
		if got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), "busy") {
			t.Errorf("after its deadline: %d %v %s", got.Code, got.Header(), got.Body)
		}
		close(held)
		all.Wait()
		if ok.Load() != 20 || most.Load() != 1 {
			t.Errorf("%d of 20 answered, %d at once", ok.Load(), most.Load())
		}
	})
}

// Proves: R63 (the memory of all bodies is bounded, and requests over it are refused with a retry).
func TestIntakeBoundsTheMemoryOfBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 16 << 20
		held := make(chan struct{})
		review := kind(size, time.Minute, func(body []byte) ([]byte, error) {
			<-held
			return body[:1], nil
		})
		i := NewIntake()
		var all sync.WaitGroup
		first, firstBody := newRequest(t, size, size)
		all.Go(func() { handle(i, review, first) })
		synctest.Wait()
		second, secondBody := newRequest(t, size, size)
		if got := handle(i, review, second); got.Code != http.StatusServiceUnavailable || got.Header().Get("Retry-After") == "" {
			t.Errorf("answered %d, %v", got.Code, got.Header())
		}
		if read := firstBody.read.Load() + secondBody.read.Load(); firstBody.read.Load() != size || read > memoryForBodies {
			t.Errorf("%d bytes were read of both", read)
		}
		close(held)
		all.Wait()
		again, _ := newRequest(t, size, size)
		if got := handle(i, review, again); got.Code != http.StatusOK {
			t.Errorf("answered %d when there is memory again", got.Code)
		}
		if !i.bodies.TryAcquire(memoryForBodies) {
			t.Error("memory was not given back")
		}
	})
}

// Proves: R63 (a client that announces many bytes and sends few holds little memory).
func TestIntakeAllocatesMemoryAsBytesArrive(t *testing.T) {
	for name, c := range map[string]struct {
		announced int64
		part      int
	}{
		"1 byte of the largest":             {maxConversionReview, 1},
		"a little of the largest":           {maxConversionReview, smallReview + 1},
		"a little of an ordinary large one": {1 << 20, smallReview + 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			review := kind(maxConversionReview, time.Second, echo)
			i := NewIntake()
			ctx, cancel := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for range maxConnections {
				r, b := newRequest(t, c.announced, c.part)
				b.Reader = io.MultiReader(b.Reader, silence{ctx})
				all.Go(func() { handle(i, review, r) })
			}
			synctest.Wait()
			r, _ := newRequest(t, 3<<20, 3<<20) // API servers send no larger object
			if got := handle(i, review, r); got.Code != http.StatusOK {
				t.Errorf("%s: another review is answered %d", name, got.Code)
			}
			cancel()
			all.Wait()
		})
	}
}

// silence blocks reads, like a client that stops sending.
type silence struct{ context.Context }

func (s silence) Read([]byte) (int, error) {
	<-s.Done()
	return 0, s.Err()
}

// A panic in a review releases its memory.
func TestIntakeSurvivesPanics(t *testing.T) {
	const largest = 16 << 20
	i := NewIntake()
	review := kind(largest, time.Second, func([]byte) ([]byte, error) { panic("in a test") })
	for range 3 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			r, _ := newRequest(t, largest, largest)
			handle(i, review, r)
		}()
	}
	if r, _ := newRequest(t, 1000, 1000); handle(i, kind(1000, time.Second, echo), r).Code != http.StatusOK {
		t.Error("nothing is answered any more")
	}
	if !i.bodies.TryAcquire(memoryForBodies) {
		t.Error("memory was not given back")
	}
}

// Proves: R63.
func TestIntakeRejectsReviewsThatNeedTooMuchMemory(t *testing.T) {
	for memory, want := range map[int64]string{memoryForDecoded: "ok", memoryForDecoded + 1: "refused: "} {
		costly := Kind{MaxBytes: 1000, Wait: time.Minute, Read: func([]byte) (Review, error) {
			return review{memory: memory, answer: func() ([]byte, error) { return []byte("ok"), nil }}, nil
		}}
		r, _ := newRequest(t, 10, 10)
		if got := handle(NewIntake(), costly, r); got.Code != http.StatusOK || !strings.HasPrefix(got.Body.String(), want) {
			t.Errorf("%d bytes: %d %s", memory, got.Code, got.Body)
		}
	}
}

// Proves: R63 (small reviews do not wait for large ones or for small ones that decode to much).
func TestIntakeServesSmallReviewsUnderLoad(t *testing.T) {
	for name, body := range map[string]string{
		"large":                           strings.Repeat(" ", smallReview+1),
		"small, of which much is decoded": strings.Repeat(",", smallReview),
	} {
		synctest.Test(t, func(t *testing.T) {
			held := make(chan struct{})
			costly := kind(int64(len(body)), time.Minute, func([]byte) ([]byte, error) {
				<-held
				return nil, nil
			})
			i := NewIntake()
			var all sync.WaitGroup
			for range 5 {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
				all.Go(func() { handle(i, costly, r) })
			}
			synctest.Wait()
			began := time.Now()
			r, _ := newRequest(t, smallReview, smallReview)
			if got := handle(i, kind(smallReview, time.Second, echo), r); got.Code != http.StatusOK || time.Since(began) > 0 {
				t.Errorf("%s: a small review is answered %d after %s", name, got.Code, time.Since(began))
			}
			close(held)
			all.Wait()
		})
	}
}

// The limits allow the largest reviews and any object that the API server stores.
func TestReviewsFitIntoTheMemory(t *testing.T) {
	for _, k := range []Kind{Conversion(), (&Validation{}).Kind()} {
		if k.MaxBytes > memoryForBodies {
			t.Errorf("%s: %d bytes never fit", k.Path, k.MaxBytes)
		}
		if k.Path == "" || k.Wait == 0 || k.Read == nil {
			t.Errorf("%+v", k)
		}
	}
	const stored = 3 << 19
	for _, item := range []string{`{"":0},`, `0,`, `[],`, `"",`, `{"a":{"b":{}}},`, `"":0,`, `":::::::::::{{{{{{{,,,,\":,{[",`} {
		if need := memoryOf([]byte(strings.Repeat(item, stored/len(item))), treeItemMemory); need > memoryForDecoded {
			t.Errorf("1.5 MiB of %s take %d MiB", item, need>>20)
		}
	}
}
