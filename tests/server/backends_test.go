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

// backends are the doubles of a resource's inference endpoints, one for each host.
type backends struct {
	// hosts maps each host name to the loopback address of the doubles, which listen on the ports of the endpoints.
	hosts   map[string]string
	doubles map[string]*modelserverdouble.Double
	open    map[string]bool
}

// lastAddress numbers the loopback addresses of the stories, so that several can use the same port.
var lastAddress atomic.Uint32

// keyPrefix begins all key values in Secrets. By itself, it is the key of backends that accept any key.
const keyPrefix = "canary-of-"

// keyOf returns the value of a key in a Secret, a canary.
func keyOf(secretAndKey string) string { return canaries.Add(keyPrefix + secretAndKey) }

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

// listen serves the doubles at an address. HTTPS endpoints have no double.
func (b *backends) listen(t *testing.T, address string) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	framework.NoError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(b.serve))
	_ = server.Listener.Close()
	server.Listener = listener
	// A server lists models during startup, in an event loop that then ends. Some release lines (1.0 to 1.2 at least) use
	// a connection of that loop for the first chat, which then fails or hangs.
	server.Config.SetKeepAlivesEnabled(false)
	server.Start()
	t.Cleanup(server.Close)
}

// serve forwards a request to the double of its host. A backend without a key accepts any key.
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

// arrived reports whether the host received a chat completion for the model with the right key.
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
