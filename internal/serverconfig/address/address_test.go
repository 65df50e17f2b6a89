// SPDX-License-Identifier: Apache-2.0

package address_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/address"
)

// Proves: FR-031, R11.
func TestSplitReturnsHostAndPort(t *testing.T) {
	for in, want := range map[string][2]string{
		"pg:5432":                    {"pg", "5432"},
		"pg":                         {"pg", ""},
		"h:1":                        {"h", "1"},
		"h:65535":                    {"h", "65535"},
		"10.0.0.1:5432":              {"10.0.0.1", "5432"},
		"[fd00::1]:5432":             {"[fd00::1]", "5432"},
		"[fd00::1]":                  {"[fd00::1]", ""},
		"${env.H}:${env.P:=1:2}":     {"${env.H}", "${env.P:=1:2}"},
		"${env.H:=a/b:c]}.svc:5432":  {"${env.H:=a/b:c]}.svc", "5432"},
		"a.${env.NAMESPACE:=x}.svc.": {"a.${env.NAMESPACE:=x}.svc.", ""},
	} {
		host, port, fault := address.Split(in)
		if host != want[0] || port != want[1] || fault != "" {
			t.Errorf("Split(%q) = %q, %q, %q", in, host, port, fault)
		}
	}
}

// Each error has its own text, which does not quote the address.
func TestSplitReportsInvalidAddresses(t *testing.T) {
	for in, want := range map[string]string{
		"h:1/path":      "without a path",
		`h\x`:           "without a path",
		"h?q":           "without a path",
		"h#f":           "without a path",
		"[fd00::1]x":    "is not host:port",
		"fd00::1":       "more than one colon",
		"[fd00::1":      "more than one colon",
		"[fd00::1]:1:2": "more than one colon",
		"]:1:2":         "more than one colon",
		"":              "has no host",
		":1":            "has no host",
		"[]:1":          "has no host",
		"h:":            "has no port",
		"h:0":           "has no port",
		"h:65536":       "has no port",
		"h:-1":          "has no port",
		"h:hunter2":     "has no port",
		"h:${env.P}0":   "has no port",
	} {
		if host, port, fault := address.Split(in); host != "" || port != "" || !strings.Contains(fault, want) || strings.Contains(fault, "hunter2") {
			t.Errorf("Split(%q) = %q, %q, %q, want %q", in, host, port, fault, want)
		}
	}
}

// Proves: FR-075, R7.
func TestHasUserInfoFindsAUserInEveryForm(t *testing.T) {
	for in, want := range map[string]bool{
		"http://u:p@h": true, "u@h:1": true, "//u@h": true, "http:/u@h": true, `http:\\u@h`: true, "u:p@h/x": true, "http://u@${env.H}": true, "@h": true,
		"http://h/@x": false, "http://h?a=@": false, "http://h#@": false, "h:1": false, "http://${env.H:=u@h}": false, "": false, "/@": true, "?@": false, "#a@b": false,
	} {
		if got := address.HasUserInfo(in); got != want {
			t.Errorf("HasUserInfo(%q) = %v", in, got)
		}
	}
}

func TestIsURLAcceptsHTTPAndHTTPSWithHost(t *testing.T) {
	for in, want := range map[string]bool{
		"http://h": true, "https://h:1/x?y": true, "HTTP://h": true,
		"": false, "h:1": false, "http://": false, "http:///x": false, "ftp://h": false, "//h": false, "http://%zz": false, "http://h:0": false, "http://h:800000/x": false,
	} {
		if got := address.IsURL(in); got != want {
			t.Errorf("IsURL(%q) = %v", in, got)
		}
	}
}
