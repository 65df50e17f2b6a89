// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// hangUp bounds how long the operator keeps a connection of a stalled client.
	hangUp = 45 * time.Second
	// largestConversion and largestAdmission are the sizes of the largest reviews that the webhooks read.
	largestConversion = 16 << 20
	largestAdmission  = 4 << 20
)

// dial connects to the webhooks' port as any client in the cluster can.
func (w *world) dial(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", w.operator.webhook)
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(hangUp))
	}
	return conn, err
}

func (w *world) dialTLS(ctx context.Context, config *tls.Config) (*tls.Conn, error) {
	raw, err := w.dial(ctx)
	if err != nil {
		return nil, err
	}
	config.InsecureSkipVerify = true // an attacker accepts any certificate
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return conn, nil
}

// bytesOver is an input of raw bytes on a TLS connection, possibly endless.
func bytesOver(name, want string, send func(context.Context, io.Writer)) input {
	return input{name: name, want: []string{want}, send: func(t *testing.T, w *world) (string, error) {
		conn, err := w.dialTLS(t.Context(), &tls.Config{MinVersion: tls.VersionTLS12})
		if err != nil {
			return "", err
		}
		return exchange(t.Context(), conn, send)
	}}
}

// exchange sends bytes and reads the response until the connection ends.
func exchange(ctx context.Context, conn net.Conn, send func(context.Context, io.Writer)) (string, error) {
	began := time.Now()
	ctx, cancel := context.WithCancel(ctx)
	var sending sync.WaitGroup
	sending.Go(func() { send(ctx, conn) })
	answer, err := io.ReadAll(io.LimitReader(conn, 1<<20))
	cancel()
	_ = conn.Close()
	sending.Wait()
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return string(answer), fmt.Errorf("the connection is still open after %s", hangUp)
	}
	said, _, _ := strings.Cut(string(answer), "\r\n")
	if _, text, found := strings.Cut(string(answer), "\r\n\r\n"); found {
		said += ": " + strings.TrimSpace(text)
	}
	return strings.TrimPrefix(fmt.Sprintf("%s; closed after %.0f s", said, time.Since(began).Seconds()), "; "), nil
}

func once(text string) func(context.Context, io.Writer) {
	return func(_ context.Context, to io.Writer) { _, _ = io.WriteString(to, text) }
}

// drip returns a sender of a text and then a piece each second.
func drip(text, piece string) func(context.Context, io.Writer) {
	return func(ctx context.Context, to io.Writer) {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for _, err := io.WriteString(to, text); err == nil; _, err = io.WriteString(to, piece) {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}
}

// flood returns a sender of a text and then a piece again and again.
func flood(text, piece string) func(context.Context, io.Writer) {
	return func(ctx context.Context, to io.Writer) {
		for _, err := io.WriteString(to, text); err == nil && ctx.Err() == nil; _, err = io.WriteString(to, piece) {
			continue
		}
	}
}

func head(method, path, headers string) string {
	return method + " " + path + " HTTP/1.1\r\nHost: webhook\r\nContent-Type: application/json\r\nConnection: close\r\n" + headers + "\r\n"
}

func sized(path string, length int) string {
	return head("POST", path, fmt.Sprintf("Content-Length: %d\r\n", length))
}

// body is an input of one complete request.
func body(name, path, text, want string) input {
	return bytesOver(name, want, once(sized(path, len(text))+text))
}

func conversionOf(objects string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"llamastack.io/v1alpha2","objects":` + objects + `}}`
}

func admissionOf(object string) string {
	return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","kind":{"group":"llamastack.io","version":"v1alpha2",` +
		`"kind":"LlamaStackDistribution"},"name":"a","namespace":"hostile","operation":"CREATE","object":` + object + `}}`
}

func portInputs() []input {
	chunk := "10000\r\n" + strings.Repeat(" ", 1<<16) + "\r\n"
	spoke := `{"apiVersion":"llamastack.io/v1alpha1","kind":"LlamaStackDistribution","metadata":{"name":"a#"},"spec":{"server":{"distribution":{"name":"starter"}}}}`
	hub := func(settings string) string {
		return string(resource("v1alpha2", "a", starter+`,"providers":{"inference":`+vllm(settings)+`}`))
	}
	all := []input{
		body("empty body for conversion", "/convert", "", "400"),
		body("empty body for validation", "/validate", "", "400"),
		body("text", "/convert", "hello", "400"),
		body("16 MiB of opening brackets", "/convert", strings.Repeat("[", largestConversion), "400"),
		body("4 MiB of nested objects", "/validate", strings.Repeat(`{"a":`, largestAdmission/5), "400"),
		body("conversion of 16 MiB of null", "/convert", conversionOf(list(largestConversion/5-100, "null")), "400"),
		body("conversion of a list of 90000 objects", "/convert", conversionOf(list(90_000, spoke)), "more than 10000 objects"),
		body("conversion of 16 MiB of numbers", "/convert", conversionOf(`[{"a":[`+strings.Repeat("0,", 8_000_000)+`0]}]`), "Failure"),
		body("conversion of 700000 empty objects in one", "/convert", conversionOf(`[{"apiVersion":"llamastack.io/v1alpha1","a":[`+strings.Repeat("{},", 700_000)+`0]}]`), "HTTP/1.1 200"),
		body("conversion of 370000 objects in one", "/convert", conversionOf(`[{"apiVersion":"llamastack.io/v1alpha1","a":[`+strings.Repeat(`{"a":0},`, 370_000)+`0]}]`), "HTTP/1.1 200"),
		body("validation of 1300000 volumes", "/validate", admissionOf(string(resource("v1alpha2", "a", starter+`,"workload":{"overrides":{"volumes":[`+strings.Repeat("{},", 1_300_000)+`{}]}}`))), "100000 values"),
		body("validation of 1300000 managed fields", "/validate", admissionOf(`{"metadata":{"managedFields":[`+strings.Repeat("{},", 1_300_000)+`{}]}}`), "too many values"),
		body("conversion of an object of 9000 levels", "/convert", conversionOf("["+strings.Replace(hub(nest(9000, "0")), "v1alpha2", "v1alpha1", 1)+"]"), "HTTP/1.1 200"),
		body("conversion with an id of 50 KB", "/convert", strings.Replace(conversionOf("[]"), `"u"`, `"`+strings.Repeat("u", 50_000)+`"`, 1), "HTTP/1.1 "),
		body("conversion to another version", "/convert", strings.Replace(conversionOf("["+spoke+"]"), `v1alpha2"`, `v9"`, 1), "Failure"),
		body("conversion of invalid UTF-8", "/convert", conversionOf("[{\"apiVersion\":\"llamastack.io/v1alpha1\",\"metadata\":{\"name\":\"\xff\xfe\"}}]"), "HTTP/1.1 "),
		body("validation of 1000 levels by 30000 leaves", "/validate", admissionOf(hub(nest(1000, list(30000, "0")))), "64 levels"),
		body("validation of 9000 levels", "/validate", admissionOf(hub(nest(9000, "0"))), "64 levels"),
		body("validation of another kind", "/validate", admissionOf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"a"},"data":{"a":"b"}}`), "HTTP/1.1 200"),
		body("validation of a list", "/validate", admissionOf(`[]`), "HTTP/1.1 200"),
		body("review without request", "/validate", `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":null}`, "400"),
		body("path that is not served", "/debug/pprof/heap", "", "404"),
		bytesOver("other method", "405", once(head("DELETE", "/convert", "Content-Length: 0\r\n"))),
		bytesOver("63 MiB announced", "413", flood(sized("/convert", 63<<20), strings.Repeat(" ", 1<<16))),
		bytesOver("body shorter than announced", "400", drip(sized("/convert", 1000), " ")),
		bytesOver("endless body in chunks for conversion", "411", flood(head("POST", "/convert", "Transfer-Encoding: chunked\r\n"), chunk)),
		bytesOver("endless body in chunks for validation", "411", flood(head("POST", "/validate", "Transfer-Encoding: chunked\r\n"), chunk)),
		bytesOver("negative length", "400", once(sized("/convert", -1))),
		bytesOver("two lengths", "400", once(head("POST", "/convert", "Content-Length: 1\r\nContent-Length: 2\r\n")+"xx")),
		bytesOver("1 MiB of headers", "431", once(head("POST", "/convert", strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 1024)))),
		bytesOver("endless header", "431", flood("POST /convert HTTP/1.1\r\nHost: ", strings.Repeat("a", 1<<16))),
		bytesOver("path of 1 MiB", "431", once(head("POST", "/"+strings.Repeat("a", 1<<20), ""))),
		bytesOver("waits for 100 Continue", "closed after", once(head("POST", "/convert", "Expect: 100-continue\r\nContent-Length: 1000\r\n"))),
		bytesOver("HTTP/2", "closed after", once("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")),
		bytesOver("200 requests at once on a connection", "404",
			once(strings.Repeat("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 200)+head("GET", "/", ""))),
		bytesOver("bomb in gzip", "400", once(gzipBomb())),
	}
	return append(append(all, connectionInputs()...), slowInputs()...)
}

func gzipBomb() string {
	var packed bytes.Buffer
	pack := gzip.NewWriter(&packed)
	_, err := pack.Write(make([]byte, 200<<20))
	if err := errors.Join(err, pack.Close()); err != nil {
		panic(err) // a buffer never fails
	}
	return head("POST", "/convert", fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d\r\n", packed.Len())) + packed.String()
}

func connectionInputs() []input {
	garbage := make([]byte, 1<<16)
	random := rand.New(rand.NewPCG(1, 2)) // a constant seed
	for i := range garbage {
		garbage[i] = byte(random.Uint32())
	}
	plain := func(name, text string) input {
		return input{name: name, want: []string{"closed after"}, send: func(t *testing.T, w *world) (string, error) {
			conn, err := w.dial(t.Context())
			if err != nil {
				return "", err
			}
			return exchange(t.Context(), conn, once(text))
		}}
	}
	return []input{
		plain("garbage instead of TLS", string(garbage)),
		plain("HTTP without TLS", head("POST", "/convert", "")),
		plain("TLS record that never ends", "\x16\x03\x01\x40\x00\x01"),
		plain("connection that says nothing", ""),
		{name: "TLS without a server name", want: []string{"404"}, send: func(t *testing.T, w *world) (string, error) {
			conn, err := w.dialTLS(t.Context(), &tls.Config{MinVersion: tls.VersionTLS12})
			if err != nil {
				return "", err
			}
			return exchange(t.Context(), conn, once(head("GET", "/", "")))
		}},
		{name: "TLS 1.0", want: []string{"protocol version"}, send: func(t *testing.T, w *world) (string, error) {
			_, err := w.dialTLS(t.Context(), &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS10})
			if err == nil {
				return "", errors.New("the handshake succeeds")
			}
			return err.Error(), nil
		}},
		{name: "2000 connections that say nothing", want: []string{"a conversion meanwhile"}, send: func(t *testing.T, w *world) (string, error) {
			return w.hold(t, 2000, func(ctx context.Context) (io.Closer, error) { return w.dial(ctx) })
		}},
		{name: "200 connections after their handshakes", want: []string{"a conversion meanwhile"}, send: func(t *testing.T, w *world) (string, error) {
			return w.hold(t, 200, func(ctx context.Context) (io.Closer, error) {
				return w.dialTLS(ctx, &tls.Config{MinVersion: tls.VersionTLS12})
			})
		}},
		{name: "200 connections with headers that never end", want: []string{"a conversion meanwhile"}, send: func(t *testing.T, w *world) (string, error) {
			return w.hold(t, 200, func(ctx context.Context) (io.Closer, error) {
				conn, err := w.dialTLS(ctx, &tls.Config{MinVersion: tls.VersionTLS12})
				if err == nil {
					_, err = io.WriteString(conn, "POST /convert HTTP/1.1\r\nHost: a\r\nA: b\r\n")
				}
				return conn, err
			})
		}},
		{name: "20 of the largest conversions at once", want: []string{"20 answers"}, send: func(t *testing.T, w *world) (string, error) {
			spoke := string(resource("v1alpha1", "a", `"server":{"distribution":{"name":"starter"},"containerSpec":{"env":`+list(20_000, `{"name":"N#","value":"v"}`)+`}}`))
			return w.parallel(t, 20, "/convert", fill(conversionOf, spoke, largestConversion))
		}},
		{name: "20 of the largest validations at once", want: []string{"20 answers"}, send: func(t *testing.T, w *world) (string, error) {
			hub := string(resource("v1alpha2", "a", starter+`,"resources":{"models":`+list(150_000, `"model-#"`)+`}`))
			return w.parallel(t, 20, "/validate", admissionOf(hub))
		}},
		{name: "20 validations of deep objects at once", want: []string{"20 answers"}, send: func(t *testing.T, w *world) (string, error) {
			hub := string(resource("v1alpha2", "a", starter+`,"providers":{"inference":`+vllm(nest(5000, list(500_000, "0")))+`}`))
			return w.parallel(t, 20, "/validate", admissionOf(hub))
		}},
	}
}

func fill(review func(string) string, object string, largest int) string {
	n := (largest - len(review("[]"))) / (len(object) + 1)
	return review("[" + strings.TrimSuffix(strings.Repeat(object+",", n), ",") + "]")
}

func (w *world) hold(t *testing.T, n int, open func(context.Context) (io.Closer, error)) (string, error) {
	t.Helper()
	var held []io.Closer
	defer func() {
		for _, conn := range held {
			_ = conn.Close()
		}
	}()
	refused := 0
	for range n {
		conn, err := open(t.Context())
		if err != nil {
			refused++
			continue
		}
		held = append(held, conn)
	}
	began := time.Now()
	spoke := resource("v1alpha1", "a", `"replicas":1,"server":{"distribution":{"name":"starter"}}`)
	code, err := w.postReview(t.Context(), "/convert", conversionOf("["+string(spoke)+"]"))
	if err == nil && code != "200" {
		err = errors.New("a conversion is answered " + code)
	}
	own := time.Since(began)
	began = time.Now()
	status, answer, failed := w.ask(t.Context(), http.MethodGet, resourcePath("v1alpha1", bystanders, "busy"), nil)
	if failed == nil && status != http.StatusOK {
		failed = errors.New(denial(status, answer))
	}
	return fmt.Sprintf("%d open, %d refused; a conversion meanwhile takes %.2f s over a new connection, %.2f s by the API server",
		len(held), refused, own.Seconds(), time.Since(began).Seconds()), errors.Join(err, failed)
}

// parallel posts a review n times at once, each on a new connection, and counts the responses. As an API server does,
// it retries for a minute if a connection ends without a response.
func (w *world) parallel(t *testing.T, n int, path, review string) (string, error) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	codes, failures := map[string]int{}, []error(nil)
	for range n {
		all.Go(func() {
			code, err := w.postReview(t.Context(), path, review)
			for until := time.Now().Add(time.Minute); err != nil && time.Now().Before(until); {
				code, err = w.postReview(t.Context(), path, review)
			}
			mu.Lock()
			defer mu.Unlock()
			codes[code]++
			if err != nil {
				failures = append(failures, err)
			}
		})
	}
	all.Wait()
	return fmt.Sprintf("%d answers to %d KiB each: %v", n-len(failures), len(review)>>10, codes), errors.Join(failures...)
}

func (w *world) postReview(ctx context.Context, path, review string) (string, error) {
	conn, err := w.dialTLS(ctx, &tls.Config{MinVersion: tls.VersionTLS12})
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		return "", err
	}
	// The response may come before the request is complete.
	go func() { _, _ = io.WriteString(conn, sized(path, len(review))+review) }()
	answer := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(conn, answer); err != nil {
		return "", err
	}
	_, _ = io.Copy(io.Discard, conn)
	return strings.TrimPrefix(string(answer), "HTTP/1.1 "), nil
}
