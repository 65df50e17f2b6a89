// SPDX-License-Identifier: Apache-2.0

package prober

import (
	"context"
	"sync"
)

// lanes bounds how many servers are asked at once: some of each namespace, more in all. Slow servers of one namespace so delay only
// those of their own.
type lanes struct {
	all          chan struct{}
	perNamespace int

	mu         sync.Mutex
	namespaces map[string]*lane
}

// lane is one namespace's. It exists as long as someone waits in it or has come through.
type lane struct {
	slots chan struct{}
	users int
}

func newLanes(all, perNamespace int) *lanes {
	return &lanes{all: make(chan struct{}, all), perNamespace: perNamespace, namespaces: map[string]*lane{}}
}

// enter waits for a place, and returns what gives it back.
func (l *lanes) enter(ctx context.Context, namespace string) (leave func(), _ error) {
	own := l.join(namespace)
	select {
	case own.slots <- struct{}{}:
	case <-ctx.Done():
		l.quit(namespace)
		return nil, ctx.Err()
	}
	leaveOwn := func() {
		<-own.slots
		l.quit(namespace)
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

func (l *lanes) join(namespace string) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := l.namespaces[namespace]
	if own == nil {
		own = &lane{slots: make(chan struct{}, l.perNamespace)}
		l.namespaces[namespace] = own
	}
	own.users++
	return own
}

func (l *lanes) quit(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if own := l.namespaces[namespace]; own.users > 1 {
		own.users--
	} else {
		delete(l.namespaces, namespace)
	}
}
