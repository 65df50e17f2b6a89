// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"sync/atomic"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// backends stand for every host that a resource names as the endpoint of an inference provider: one double for each.
type backends struct {
	// hosts are the names and the address of loopback at which the doubles listen, on the ports that the resource names.
	hosts   map[string]string
	doubles map[string]*modelserverdouble.Double
	open    map[string]bool
}

// lastAddress makes an address of 127.0.0.0/8 for each story: the same port can be open several times.
var lastAddress atomic.Uint32

// keyPrefix is what all values of keys in Secrets begin with. By itself it is the key of backends that take any.
const keyPrefix = "canary-of-"

// keyOf is the value of a key in a Secret, a canary.
func keyOf(secretAndKey string) string { return canaries.Add(keyPrefix + secretAndKey) }

// startBackends starts the doubles for what a resource asks for.
func startBackends(t *testing.T, a requested) *backends {
	t.Helper()
	next := lastAddress.Add(1) + uint32(os.Getpid())%200<<16
	address := fmt.Sprintf("127.%d.%d.%d", 1+next>>16&0xff, next>>8&0xff, 1+next&0x7f)
	b := &backends{hosts: map[string]string{}, doubles: map[string]*modelserverdouble.Double{}, open: map[string]bool{}}
	ports := map[string]bool{}
	for _, p := range a.providers {
		at, err := url.Parse(p.endpoint)
		framework.NoError(t, err)
		if p.api != "inference" || at.Scheme != "http" {
			continue
		}
		config := modelserverdouble.Config{Key: keyPrefix}
		if p.key != "" {
			config.Key = keyOf(p.key)
		}
		for _, m := range a.models {
			if m.provider == p.id {
				config.Models = append(config.Models, m.name)
			}
		}
		if len(config.Models) == 0 {
			config.Models = []string{"a-model-of-the-backend"}
		}
		double, err := modelserverdouble.New(config)
		framework.NoError(t, err)
		b.doubles[at.Host], b.open[at.Host] = double, p.key == ""
		b.hosts[at.Hostname()] = address
		ports[cmp.Or(at.Port(), "80")] = true
	}
	for port := range ports {
		b.listen(t, net.JoinHostPort(address, port))
	}
	return b
}

// listen serves the doubles at one address and port. A server with TLS has no double: its hosts resolve, and nobody answers.
func (b *backends) listen(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	framework.NoError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(b.serve))
	_ = server.Listener.Close()
	server.Listener = listener
	// A server lists the models of its model server while it starts, in an event loop that then ends. Of some release lines (1.0 to 1.2 at
	// least) it takes a connection from that time for the first chat, and fails or waits forever, whatever its configuration says.
	server.Config.SetKeepAlivesEnabled(false)
	server.Start()
	t.Cleanup(server.Close)
}

// serve hands a request on to the double of the host that it was sent to. A backend without a key takes any.
func (b *backends) serve(w http.ResponseWriter, r *http.Request) {
	double := b.doubles[r.Host]
	if double == nil {
		http.Error(w, "no such host: "+r.Host, http.StatusMisdirectedRequest)
		return
	}
	if b.open[r.Host] {
		r.Header.Set("Authorization", "Bearer "+keyPrefix)
	}
	double.ServeHTTP(w, r)
}

// arrived reports whether a chat completion for the model came in at the host with the right key.
func (b *backends) arrived(host, model string) bool {
	double := b.doubles[host]
	if double == nil {
		return false
	}
	for _, request := range double.Requests() {
		if request.Path == "/v1/chat/completions" && request.Model == model && request.KeyMatched {
			return true
		}
	}
	return false
}
