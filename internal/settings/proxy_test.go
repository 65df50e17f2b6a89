// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R106.
func TestProxyOfTheSettings(t *testing.T) {
	s := parse(t, map[string]string{settings.KeyProxy: "httpProxy: http://proxy:3128\nnoProxy: .example.com\n"})
	if p := s.Proxy; p == nil || *p.HTTPProxy != "http://proxy:3128" || p.HTTPSProxy != nil || *p.NoProxy != ".example.com" || s.Registries.Proxy != p {
		t.Errorf("%+v", p)
	}
	for _, list := range []string{"'*'", "a, b", "'.svc,10.0.0.0/8,[::1],a:80,'"} {
		parse(t, map[string]string{settings.KeyProxy: "noProxy: " + list})
	}
	if s := parse(t, nil); s.Proxy != nil {
		t.Errorf("without the setting: %+v", s.Proxy)
	}
	for text, want := range map[string]string{
		"httpProxy: proxy:3128":              "key proxy: httpProxy: Invalid value: \"\": must be a URL",
		"httpProxy: http://proxy:99999":      "key proxy: httpProxy: Invalid value: \"\": must be a URL",
		"httpProxy: http://proxy:1/?a=b":     "key proxy: httpProxy: Invalid value: \"\": must be a URL",
		"httpsProxy: 'http://u:hunter2@p:1'": "must not contain user information",
		"noProxy: a.example.com;b":           "key proxy: noProxy: Invalid value: \"a.example.com;b\": separate the entries by commas",
		"noProxy: a.example.com b":           "key proxy: noProxy: Invalid value: \"a.example.com b\": separate the entries by commas",
		"noProxy: 'a, *.example.com'":        "key proxy: noProxy: Invalid value: \"*.example.com\": not all clients know *: write .example.com",
		"noProxy: 'http://u:hunter2@a'":      "key proxy: noProxy: Invalid value: \"\": an entry is a host",
		"proxy: x":                           "key proxy: ",
	} {
		_, err := settings.Parse(map[string]string{settings.KeyProxy: text})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
