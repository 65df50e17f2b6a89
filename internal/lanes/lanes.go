// SPDX-License-Identifier: Apache-2.0

package lanes

import (
	"context"
	"sync"
)

// Lanes bounds how much is under way at once: some in each lane, more in all.
type Lanes struct {
	all     chan struct{}
	perLane int

	mu    sync.Mutex
	lanes map[string]*lane
}

// lane exists as long as someone waits in it or has come through.
type lane struct {
	slots chan struct{}
	users int
}

// New returns lanes for so much in all, and in each lane.
func New(all, perLane int) *Lanes {
	return &Lanes{all: make(chan struct{}, all), perLane: perLane, lanes: map[string]*lane{}}
}

// Enter waits for a place in the lane of that name, and returns what gives it back. It fails when the context ends.
func (l *Lanes) Enter(ctx context.Context, name string) (leave func(), _ error) {
	own := l.join(name)
	select {
	case own.slots <- struct{}{}:
	case <-ctx.Done():
		l.quit(name)
		return nil, ctx.Err()
	}
	leaveOwn := func() {
		<-own.slots
		l.quit(name)
	}
	select {
	case l.all <- struct{}{}:
	case <-ctx.Done():
		leaveOwn()
		return nil, ctx.Err()
	}
	return func() {
		<-l.all
		leaveOwn()
	}, nil
}

func (l *Lanes) join(name string) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.lanes[name]
	if own == nil {
		own = &lane{slots: make(chan struct{}, l.perLane)}
		l.lanes[name] = own
	}
	own.users++
	return own
}

func (l *Lanes) quit(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.lanes[name]; own.users > 1 {
		own.users--
	} else {
		delete(l.lanes, name)
	}
}

// InUse returns how many lanes exist, and how many of all places are taken.
func (l *Lanes) InUse() (lanes, places int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.lanes), len(l.all)
}
