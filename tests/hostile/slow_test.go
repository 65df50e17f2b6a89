// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// slowClients is the number of clients that send slowly at once, and conversionsMeanwhile that of the conversions
	// meanwhile.
	slowClients          = 100
	conversionsMeanwhile = 5
)

// slowInputs are clients that continuously announce large bodies and send little, from one address and from many. The
// announced size must not block others: every conversion meanwhile succeeds at the first attempt.
func slowInputs() (all []input) {
	for _, c := range []struct {
		name            string
		announced, sent int
	}{
		{"1 byte of 16 MiB", largestConversion, 1},
		{"33 KiB of 16 MiB", largestConversion, 33 << 10},
		{"33 KiB of 1 MiB", 1 << 20, 33 << 10},
	} {
		for _, addresses := range []int{1, slowClients} {
			name := fmt.Sprintf("%d clients of %d addresses that send %s", slowClients, addresses, c.name)
			all = append(all, input{name: name, want: []string{"KiB answered 200"}, send: func(t *testing.T, w *world) (string, error) {
				return w.loadAddresses(t, addresses, c.announced, c.sent)
			}})
		}
	}
	return all
}

func (w *world) loadAddresses(t *testing.T, addresses, announced, sent int) (string, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var clients sync.WaitGroup
	defer func() { cancel(); clients.Wait() }()
	there := make(chan struct{}, slowClients)
	for i := range slowClients {
		from := fmt.Sprintf("127.0.1.%d", 1+i%addresses)
		clients.Go(func() {
			arrived := sync.OnceFunc(func() { there <- struct{}{} })
			for ctx.Err() == nil {
				_ = w.sendSlowly(ctx, from, announced, sent, arrived)
			}
		})
	}
	deadline := time.After(2 * time.Minute)
	for i := range slowClients {
		select {
		case <-there:
		case <-deadline:
			return "", fmt.Errorf("only %d of %d slow clients got through", i, slowClients)
		}
	}
	variables := 200 // some 105 KB: reviews below 1 MiB have reserved memory
	if announced > 1<<20 {
		variables = 2500
	}
	spoke := string(resource("v1alpha1", "a", `"server":{"distribution":{"name":"starter"},"containerSpec":{"env":`+
		list(variables, `{"name":"N#","value":"`+strings.Repeat("v", 500)+`"}`)+`}}`))
	review := conversionOf("[" + spoke + "]")
	var slowest time.Duration
	for range conversionsMeanwhile {
		began := time.Now()
		code, err := w.postReview(ctx, "/convert", review)
		if err == nil && code != "200" {
			err = errors.New("a conversion is answered " + code)
		}
		if err != nil {
			return "", err
		}
		slowest = max(slowest, time.Since(began))
	}
	return fmt.Sprintf("%d conversions of %d KiB answered 200, the slowest after %.1f s", conversionsMeanwhile, len(review)>>10, slowest.Seconds()), nil
}

// sendSlowly announces a body, sends a part of it, calls sent, and waits until the operator closes the connection.
func (w *world) sendSlowly(ctx context.Context, from string, announced, bytes int, sent func()) error {
	raw, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, "tcp", w.operator.webhook)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	// An attacker accepts any certificate.
	conn := tls.Client(raw, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true})
	if _, err := io.WriteString(conn, sized("/convert", announced)+strings.Repeat("[", bytes)); err != nil {
		return err
	}
	sent()
	_, err = io.Copy(io.Discard, conn)
	return err
}
