// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// Proves: R83 (trusting nearly all addresses is a warning in any notation; cluster and private networks are fine).
func TestApplyWarnsOfNetworksOfEveryone(t *testing.T) {
	line := step.Newest(t)
	for networks, at := range map[string]string{
		"10.244.0.0/16": "",
		"10.0.0.0/8 172.16.0.0/12 192.168.0.0/16":   "",
		"fc00::/7 fe80::/10 192.0.2.7 2001:db8::7":  "",
		"10.0.0.0/255.0.0.0 10.0.0.0/0.255.255.255": "",
		"${env.NETWORKS}":                           "",
		"0.0.0.0/0":                                 "[0]",
		"1.2.3.4/0":                                 "[0]",
		"0.0.0.0/0.0.0.0":                           "[0]",
		"::/0":                                      "[0]",
		"2000::/3":                                  "[0]",
		"::ffff:0.0.0.0/96":                         "[0]",
		"10.0.0.0/8 0.0.0.0/1 128.0.0.0/1":          "[1]",
		"128.0.0.0/128.0.0.0":                       "[0]",
		"0.0.0.0/127.255.255.255":                   "[0]",
		strings.TrimSpace(strings.Repeat("11.0.0.0/8 ", 9)): "[8]",
	} {
		list := []any{}
		for network := range strings.SplitSeq(networks, " ") {
			if network != "" {
				list = append(list, network)
			}
		}
		_, problems := applied(t, line, "", &parse.Auth{Type: "upstream_header", Settings: map[string]any{
			"principal_header": "x-user", "trusted_proxy_cidrs": list,
		}})
		want := "spec.auth.settings.trusted_proxy_cidrs" + at + ": trusts the headers of almost every client"
		if got := strings.Contains(problems, want); got != (at != "") {
			t.Errorf("%s: %s", networks, problems)
		}
	}
}
