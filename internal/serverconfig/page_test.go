// SPDX-License-Identifier: Apache-2.0

package serverconfig_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// hasCredentials reports whether the PostgreSQL SQL backend takes its credentials in the given form.
func hasCredentials(way catalog.CredentialForm) func(*catalog.Line) bool {
	return func(line *catalog.Line) bool { return line.Backends["sql_postgres"].Credentials == way }
}

func not(fact func(*catalog.Line) bool) func(*catalog.Line) bool {
	return func(line *catalog.Line) bool { return !fact(line) }
}

func needsInsecure(line *catalog.Line) bool         { return line.NeedsInsecure }
func registersToolGroups(line *catalog.Line) bool   { return line.RegistersToolGroups }
func registersVectorStores(line *catalog.Line) bool { return line.RegistersVectorStores }
func servesModelID(line *catalog.Line) bool         { return line.ServesModelID }

// FIRST and LAST in a sentence stand for the first and the last release line for which the fact is true. Without them,
// the range begins with the oldest or ends with the newest release line.
//
// Proves: R16.
func TestPageNamesTheReleaseLinesOfTheCatalog(t *testing.T) {
	var words []string
	for _, part := range []string{"", "-providers", "-resources", "-storage"} {
		text := framework.ReadFile(t, "../../docs/configuration"+part+".md")
		words = append(words, strings.Fields(string(text))...)
	}
	page := strings.ToLower(strings.Join(words, " "))
	for sentence, fact := range map[string]func(*catalog.Line) bool{
		"From release line FIRST on, the server needs TLS files or `server.insecure: true` to start": needsInsecure,
		"| no TLS | what the base says, usually plain HTTP. From release line FIRST on,":             needsInsecure,
		"up to release line LAST not needed: the image runs its own configuration":                   not(needsInsecure),
		"the image runs its own configuration. From FIRST on, the same as the row above":             needsInsecure,
		"| FIRST to LAST | `<provider id>/<providerModelId>`":                                        not(servesModelID),
		"| from FIRST on | `<provider id>/<name>`":                                                   servesModelID,
		"| FIRST to LAST | a registered tool group |":                                                registersToolGroups,
		"| from FIRST on | nothing: the server makes its tool groups from its providers":             not(registersToolGroups),
		"| FIRST to LAST | for `sql`: host, port, user and database as fields":                       hasCredentials(catalog.CredentialsURLParts),
		"| FIRST to LAST | for both: the same fields":                                                hasCredentials(catalog.CredentialsParts),
		"| from FIRST on | for both: the connection string":                                          hasCredentials(catalog.CredentialsURI),
		"Up to release line LAST, the second password is then a field":                               not(hasCredentials(catalog.CredentialsURI)),
		"From release line FIRST on, nothing is shared":                                              hasCredentials(catalog.CredentialsURI),
		"On release lines FIRST to LAST, several workers need `server.host`":                         func(l *catalog.Line) bool { return l.HostForWorkers },
		"From release line FIRST on, the server registers vector stores. On release line 0.3":        registersVectorStores,
		"From release line FIRST on, the server has no safety API":                                   func(l *catalog.Line) bool { _, has := l.APIs["safety"]; return !has },
		"release line without a base, such as `meta-reference-gpu` from FIRST on":                    func(l *catalog.Line) bool { _, has := distributions.Base("meta-reference-gpu", l.Name); return !has },
	} {
		var names []string
		for _, name := range catalog.Lines() {
			if line, _ := catalog.Get(name); fact(line) {
				names = append(names, name)
			}
		}
		if len(names) == 0 {
			t.Errorf("%s: true on no release line", sentence)
			continue
		}
		first, last := names[0], names[len(names)-1]
		all := catalog.Lines()
		if from, to := slices.Index(all, first), slices.Index(all, last); !slices.Equal(all[from:to+1], names) {
			t.Errorf("%s: true on %v, which is not one range", sentence, names)
		}
		if !strings.Contains(sentence, "FIRST") && first != all[0] || !strings.Contains(sentence, "LAST") && last != catalog.Newest() {
			t.Errorf("%s: true on %v", sentence, names)
		}
		want := strings.NewReplacer("FIRST", first, "LAST", last).Replace(sentence)
		if !strings.Contains(page, strings.ToLower(want)) {
			t.Errorf("no page says: %s", want)
		}
	}
}
