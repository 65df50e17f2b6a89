// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// pace is how fast clients send bodies and read answers, in bytes a second, and patience how far one may be behind that before its
	// request is given up for another one that needs the memory. Clients of one address share the patience.
	pace     = 16 << 20
	patience = 500 * time.Millisecond
	// recheck is how often who waits for memory looks whether a client has fallen behind.
	recheck = 50 * time.Millisecond
)

// errShed says that a request was given up for the sake of others.
var errShed = errors.New("another request needs the memory")

// memory is what the bodies and answers of many requests may take together. It is taken as bytes arrive, so a body that is announced
// and not sent takes none. When all is taken, who needs more waits, the oldest first, and a request whose client is slow is given up.
type memory struct {
	size int64

	mu   sync.Mutex
	used int64
	// open are the requests, the oldest first.
	open []*share
	// changed is closed when memory is given back, or a request is given up.
	changed chan struct{}
}

// share is what one request has of the memory.
type share struct {
	of   *memory
	from string
	// giveUp ends what the request waits for its client to do.
	giveUp func()
	bytes  int64
	// began is when the client could begin to send, or to read; waits for memory are taken off. moved is how much it has sent or read.
	began time.Time
	moved int64
	// client says that the request waits for its client, waiting that it waits for memory; otherwise its review is waiting for its turn
	// or is decoded. shed says that it was given up.
	client, waiting, shed bool
}

func newMemory(size int64) *memory { return &memory{size: size, changed: make(chan struct{})} }

// enter begins a request of an address. leave must follow.
func (m *memory) enter(from string, giveUp func()) *share {
	s := &share{of: m, from: from, giveUp: giveUp, began: time.Now(), client: true}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.open = append(m.open, s)
	return s
}

// leave gives everything back.
func (s *share) leave() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.used -= s.bytes
	s.bytes = 0
	s.of.open = slices.DeleteFunc(s.of.open, func(other *share) bool { return other == s })
	s.of.announce()
}

// announce wakes those who wait. The lock must be held.
func (m *memory) announce() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// grow takes memory until the request has so many bytes. It waits until then, or until the context ends or the request is given up.
func (s *share) grow(ctx context.Context, bytes int64) error {
	m, began := s.of, time.Now()
	m.mu.Lock()
	defer m.mu.Unlock()
	defer func() {
		s.waiting = false
		s.began = s.began.Add(time.Since(began))
		m.announce()
	}()
	s.waiting = true
	for {
		if s.shed {
			return errShed
		}
		if m.oldestWaiting() == s {
			if m.used+bytes-s.bytes <= m.size {
				m.used += bytes - s.bytes
				s.bytes = bytes
				return nil
			}
			if other := m.dispensable(bytes - s.bytes); other != nil {
				other.shed = true
				other.giveUp()
				m.announce()
				continue
			}
		}
		changed := m.changed
		m.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-time.After(recheck):
		case <-ctx.Done():
			err = ctx.Err()
		}
		m.mu.Lock()
		if err != nil {
			return err
		}
	}
}

// oldestWaiting is the request that is served first. The lock must be held.
func (m *memory) oldestWaiting() *share {
	for _, s := range m.open {
		if s.waiting && !s.shed {
			return s
		}
	}
	return nil
}

// dispensable is the request that is given up for one that needs so many bytes; nil where waiting helps. The lock must be held.
func (m *memory) dispensable(need int64) *share {
	coming, progress, count := m.size-m.used, false, map[string]int{}
	for _, s := range m.open {
		switch {
		case s.bytes == 0 || s.waiting && !s.shed: // frees nothing by itself
		case s.shed:
			coming += s.bytes
		default:
			progress = true
			count[s.from]++
		}
	}
	if coming >= need {
		return nil
	}
	var first *share
	var most time.Duration
	for _, s := range m.open {
		if !s.client || s.waiting || s.shed || s.bytes == 0 {
			continue
		}
		behind := time.Since(s.began) - time.Duration(s.moved)*time.Second/pace
		// An API server sends many at once, and is behind for a moment when the operator has no processor: that alone is not a reason.
		if weighed := behind * time.Duration(count[s.from]); behind > patience/4 && weighed > patience && weighed > most {
			first, most = s, weighed
		}
	}
	if first != nil || progress {
		return first
	}
	return m.largestWaiting() // all wait for each other
}

// largestWaiting is of the address that has most memory the youngest request that waits. The lock must be held.
func (m *memory) largestWaiting() (last *share) {
	held := map[string]int64{}
	for _, s := range m.open {
		held[s.from] += s.bytes
	}
	for _, s := range m.open {
		if s.waiting && !s.shed && s.bytes > 0 && (last == nil || held[s.from] >= held[last.from]) {
			last = s
		}
	}
	return last
}

// add notes that the client has sent or read so many bytes more.
func (s *share) add(bytes int) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.moved += int64(bytes)
}

// received notes that the whole body is there: the client is not waited for.
func (s *share) received() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.client = false
}

// replace replaces the body by an answer, which is there already, and waits for the client to read it; giveUp ends that.
func (s *share) replace(bytes int64, giveUp func()) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	s.of.used += bytes - s.bytes
	s.bytes, s.began, s.moved, s.client, s.giveUp = bytes, time.Now(), 0, true, giveUp
	if s.shed { // while its last bytes came
		giveUp()
	}
	s.of.announce()
}

// givenUp reports whether the request was given up.
func (s *share) givenUp() bool {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	return s.shed
}
