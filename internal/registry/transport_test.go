// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

// Proves: R14, R63 (private addresses need a setting or a cloud's registry; addresses of the machine are always
// refused).
func TestPrivateRegistryAddressesAreRejected(t *testing.T) {
	client := New(Options{
		Local: []string{"named.example.com", "10.1.2.3:5000"}, PlainHTTP: []string{"plain.example.com"},
		Trusted: func(registry string) bool { return strings.HasSuffix(registry, ".cloud.example.com") },
	})
	ways := map[http.RoundTripper]string{client.unrestricted: "anywhere", client.nonLocal: "outside", client.public: "public"}
	for _, c := range []struct{ registry, host, want string }{
		{"registry.example.com", "registry.example.com", "outside"},
		{"registry.example.com", "registry.example.com:8443", "outside"},
		{"registry.example.com", "storage.example.com", "public"},
		{"registry.example.com", "storage.example.com.", "public"},
		{"registry.example.com", "named.example.com", "outside"},
		{"registry.example.com", "10.1.2.3:5000", "outside"},
		{"registry.example.com", "10.1.2.3", "private address"},
		{"registry.example.com", "10.1.2.3:443", "private address"},
		{"registry.example.com", "192.168.0.1", "private address"},
		{"registry.example.com", "172.16.9.9", "private address"},
		{"registry.example.com", "100.64.0.1", "private address"},
		{"registry.example.com", "[fd00::1]:443", "private address"},
		{"registry.example.com", "[::ffff:10.1.2.3]", "private address"},
		{"registry.example.com", "169.254.169.254", "loopback or link-local address"},
		{"registry.example.com", "[fe80::1%25eth0]", "loopback or link-local address"},
		{"registry.example.com", "198.51.100.7", "public"},
		{"10.9.9.9", "10.9.9.9", "outside"},
		{"10.9.9.9", "10.9.9.8", "private address"},
		{"named.example.com", "named.example.com", "anywhere"},
		{"named.example.com", "10.1.2.4", "outside"},
		{"named.example.com", "storage.example.com", "outside"},
		{"named.example.com", "127.0.0.1", "loopback or link-local address"},
		{"plain.example.com", "storage.example.com", "outside"},
		{"mine.cloud.example.com", "mine.cloud.example.com", "outside"},
		{"mine.cloud.example.com", "10.1.2.4", "outside"},
		{"mine.cloud.example.com", "169.254.169.254", "loopback or link-local address"},
	} {
		_, trip, err := client.target(c.registry + "/team/server:1")
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+c.host+"/v2/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		got := ways[trip.transportFor(request)]
		if err := trip.check(request.URL); err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("from %s to %s: %s, want %s", c.registry, c.host, got, c.want)
		}
	}
}

// Proves: R14, R63 (the resolved address counts).
func TestConnectionsToPrivateAddressesAreRefused(t *testing.T) {
	for _, address := range []string{"10.1.2.3:443", "172.31.0.1:443", "192.168.1.1:443", "100.127.0.1:443", "[fc00::1]:443", "127.0.0.1:443", "[fe80::1%eth0]:443"} {
		if err := refusePrivate("tcp", address, nil); !errors.Is(err, errRefused) {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"198.51.100.7:443", "100.128.0.1:443", "[2001:db8::1]:443"} {
		if err := refusePrivate("tcp", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	if err := refuseLocal("tcp", "10.1.2.3:443", nil); err != nil {
		t.Errorf("a registry with a private address: %v", err)
	}
}
