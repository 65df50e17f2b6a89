// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// memoryLimit is that of the operator's container.
const memoryLimit = 256 << 20

// peakMemory is the most memory that the process had so far, in bytes.
func (p *process) peakMemory(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kilobytes, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatal("the kernel does not say")
	return 0
}

// unsized hides the length of a body, so that it is sent in chunks.
type unsized struct{ io.Reader }

// Proves: R63, R64 (whatever anyone sends to the webhooks' port, in parallel and as large as can be, the process stays below the limit of
// its container, and then goes on to convert).
func TestWebhookPortUnderAttack(t *testing.T) {
	t.Parallel()
	const parallel, largest = 10, 16<<20 - 4096 // more at once than the process takes: test-hostile sends 20
	s := newServing(t)
	s.install()
	s.env = []string{"GOMEMLIMIT=128MiB"} // as in the manifest
	p := s.run(buildManager(t))
	fixture.Eventually(t, installTimeout, "the replica is ready", p.ready)
	s.service.add(p.webhook)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(s.injected())
	trust := &tls.Config{RootCAs: roots, ServerName: webhookService + "." + operatorNamespace + ".svc"}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: trust, DisableKeepAlives: true}, Timeout: time.Minute}
	idle := p.peakMemory(t)

	repeat := func(item string, size int) string {
		return strings.TrimSuffix(strings.Repeat(item, size/len(item)), ",")
	}
	conversion := func(objects string) string {
		return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"u","desiredAPIVersion":"llamastack.io/v1alpha1","objects":[` + objects + `]}}`
	}
	admission := func(spec string) string {
		object := `{"apiVersion":"llamastack.io/v1alpha2","kind":"LlamaStackDistribution","metadata":{"name":"a"},"spec":` + spec + `}`
		kind := `{"group":"llamastack.io","version":"v1alpha2","kind":"LlamaStackDistribution"}`
		return `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u","namespace":"default","kind":` + kind + `,"requestKind":` + kind + `,"object":` + object + `}}`
	}
	open := func(item string, size int) string {
		return `{"distribution":{"name":"starter"},"providers":{"inference":[` + repeat(item, size) + `]}}`
	}
	// Ten thousand of these are a review as large as may be.
	object := hub("many", `,"workload":{"overrides":{"env":[`+repeat(`{"name":"A","value":"some text"},`, 1500)+`]}}`)
	for _, c := range []struct {
		name, path, body string
		chunked          bool
	}{
		{"many objects", "/convert", conversion(repeat(object+",", largest)), false},
		{"many objects in chunks", "/convert", conversion(repeat(object+",", largest)), true},
		{"many nulls", "/convert", conversion(repeat("null,", largest)), false},
		{"one object of many objects", "/convert", conversion(hub("one", `,"providers":{"inference":[`+repeat(`{"":0},`, 3<<19)+`]}`)), false},
		{"one object of small values", "/convert", conversion(hub("one", `,"providers":{"inference":[`+repeat(`0,`, 3<<19)+`]}`)), false},
		{"one object that is too large", "/convert", conversion(hub("one", `,"providers":{"inference":[`+repeat(`{"":0},`, largest)+`]}`)), false},
		{"no JSON", "/convert", strings.Repeat("[", largest), false},
		{"beyond all bounds", "/convert", strings.Repeat("{", 63<<20), false},
		{"beyond all bounds, in chunks", "/validate", strings.Repeat("{", 63<<20), true},
		{"many volumes", "/validate", admission(`{"distribution":{"name":"starter"},"workload":{"overrides":{"volumes":[` + repeat("{},", 3<<20) + `]}}}`), false},
		{"many variables", "/validate", admission(`{"distribution":{"name":"starter"},"workload":{"overrides":{"env":[` + repeat(`{"name":"a"},`, 1<<20) + `]}}}`), false},
		{"wide settings", "/validate", admission(open(`{"provider":"vllm"},`, 1<<20)), false},
	} {
		var all sync.WaitGroup
		var mu sync.Mutex
		answers := map[string]int{}
		for range parallel {
			all.Go(func() {
				var body io.Reader = strings.NewReader(c.body)
				if c.chunked {
					body = unsized{body}
				}
				outcome := "cut off"
				answer, err := client.Post("https://"+p.webhook+c.path, "application/json", body)
				if err == nil {
					text, err := io.ReadAll(answer.Body)
					_ = answer.Body.Close()
					outcome = fmt.Sprint(answer.StatusCode)
					if err != nil || len(bytes.TrimSpace(text)) == 0 {
						outcome += " without a text"
					}
				}
				mu.Lock()
				defer mu.Unlock()
				answers[outcome]++
			})
		}
		all.Wait()
		peak := p.peakMemory(t)
		t.Logf("%s: %d bytes, %d at once: answers %v; the process had up to %d MiB, %d when idle", c.name, len(c.body), parallel, answers, peak>>20, idle>>20)
		if err := errors.Join(p.alive(), p.converts(trust)); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if peak >= memoryLimit {
			t.Errorf("%s: %d MiB are more than the container may have", c.name, peak>>20)
		}
	}
}
