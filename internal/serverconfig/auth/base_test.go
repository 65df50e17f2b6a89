// SPDX-License-Identifier: Apache-2.0

package auth_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/auth"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// Proves: R68.
func TestCheckBaseFindsRulesThatTheLoaderRefuses(t *testing.T) {
	for rule, want := range map[string]string{
		"{permit: {actions: [read]}, when: user is owner}":                               "",
		"{forbid: {actions: [read]}, unless: [user is owner, user with admin in roles]}": "",
		"{permit: {actions: [read]}, when: '${env.RULE:=x}'}":                            "",
		"{permit: {actions: [read], resource: nothing}}":                                 "", // the loader takes it
		"{description: nothing}":                                                         "exactly one of permit and forbid",
		"{permit: {actions: [read]}, forbid: {actions: [read]}}":                         "exactly one of permit and forbid",
		"{permit: {actions: [read]}, when: user is owner, unless: user is owner}":        "only one of when and unless",
		"{permit: {actions: [read]}, when: user is happy}":                               "a condition that the server does not know",
		"{permit: {actions: [read]}, unless: [user is owner, resource is lost]}":         "a condition that the server does not know",
	} {
		problems := &problem.Collector{}
		auth.CheckBase(step.Document(t, "server: {auth: {access_policy: ["+rule+"]}}"), step.Line(t, "0.7"), "0.7.3", problems)
		list := problems.List()
		if want == "" && len(list) > 0 || want != "" && (len(list) != 1 || !strings.Contains(list[0].Detail, want) ||
			list[0].Path != "config.yaml: server.auth.access_policy[0]") {
			t.Errorf("%s: %v, want %q", rule, list, want)
		}
	}
}

// Proves: R16 (a server newer than the catalog may accept other conditions).
func TestCheckBaseOnlyWarnsForServersNewerThanCatalog(t *testing.T) {
	problems := &problem.Collector{}
	doc := step.Document(t, "server: {auth: {access_policy: [{permit: {actions: [read]}, when: user is happy}]}}")
	auth.CheckBase(doc, step.Line(t, catalog.Newest()), "99.0.0", problems)
	list := problems.List()
	if problems.HasErrors() || len(list) != 1 || !strings.Contains(list[0].Fix, "unless server release 99.0.0") {
		t.Errorf("%v", list)
	}
}
