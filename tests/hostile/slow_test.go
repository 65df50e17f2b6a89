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
	// slowClients is how many clients send slowly at once, and conversionsMeanwhile how many conversions are asked for meanwhile.
	slowClients          = 100
	conversionsMeanwhile = 5
)

// slowInputs are clients that announce much and send little, again and again, from one address and from many. Nothing of what they announce
// may be taken from others: every conversion meanwhile is answered at the first attempt.
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
			all = append(all, input{name: name, want: []string{"conversions answered 200"}, send: func(t *testing.T, w *world) (string, error) {
				return w.besiege(t, addresses, c.announced, c.sent)
			}})
		}
	}
	return all
}

func (w *world) besiege(t *testing.T, addresses, announced, sent int) (string, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var clients, begun sync.WaitGroup
	defer func() { cancel(); clients.Wait() }()
	begun.Add(slowClients)
	for i := range slowClients {
		from := fmt.Sprintf("127.0.1.%d", 1+i%addresses)
		clients.Go(func() {
			_ = w.sendSlowly(ctx, from, announced, sent)
			begun.Done()
			for ctx.Err() == nil {
				_ = w.sendSlowly(ctx, from, announced, sent)
			}
		})
	}
	spoke := string(resource("v1alpha1", "a", `"server":{"distribution":{"name":"starter"},"containerSpec":{"env":`+list(200, `{"name":"N#","value":"`+strings.Repeat("v", 500)+`"}`)+`}}`))
	review := conversionOf("[" + spoke + "]")
	var slowest time.Duration
	var failed error
	for range conversionsMeanwhile {
		began := time.Now()
		code, err := w.postReview(ctx, "/convert", review)
		if err == nil && code != "200" {
			err = errors.New("a conversion is answered " + code)
		}
		failed = errors.Join(failed, err)
		slowest = max(slowest, time.Since(began))
	}
	cancel()
	begun.Wait() // each was there
	return fmt.Sprintf("%d conversions answered 200, the slowest after %.1f s", conversionsMeanwhile, slowest.Seconds()), failed
}

// sendSlowly announces a body, sends a part of it, and waits until the operator ends the connection.
func (w *world) sendSlowly(ctx context.Context, from string, announced, sent int) error {
	raw, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).DialContext(ctx, "tcp", w.operator.webhook)
	if err != nil {
		return err
	}
	defer func() { _ = raw.Close() }()
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	conn := tls.Client(raw, &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true}) // an attacker does not mind
	if _, err := io.WriteString(conn, sized("/convert", announced)+strings.Repeat("[", sent)); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn)
	return err
}
