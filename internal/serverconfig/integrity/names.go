// SPDX-License-Identifier: Apache-2.0

package integrity

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
)

// names reports names of resources and providers with the value of a Secret: the server lists names, and the status
// shows them. For names in the base it only warns.
func (c *check) names() {
	n := &names{check: c, secrets: c.env.Secrets()}
	if len(n.secrets) == 0 {
		return
	}
	n.checkProcess()
	if !n.checkSpec() {
		n.checkDocument()
	}
}

type names struct {
	*check
	// secrets are the variables with values from Secrets.
	secrets map[string]bool
}

// checkSpec reports listed texts in spec.resources that refer to a Secret value, and returns whether there are any. It
// skips the endpoint of an MCP server, which may contain a key.
func (n *names) checkSpec() (found bool) {
	written, err := json.Marshal(n.spec.Resources)
	var fields any
	if err != nil || json.Unmarshal(written, &fields) != nil {
		return false // other problems report invalid JSON
	}
	walkTexts(fields, "spec.resources", func(path, text string) {
		variable := secretVariableIn(text, n.secrets)
		if variable == "" || strings.HasPrefix(path, "spec.resources.tools[") && strings.HasSuffix(path, ".endpoint") {
			return
		}
		found = true
		n.problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeForbidden,
			Detail: "refers to the environment variable " + variable + ", which has a value from a Secret: the server shows " +
				"it to clients, and the operator shows it in the status",
			Fix: "write the literal text, or use a variable from a ConfigMap",
		})
	})
	return found
}

// checkProcess warns about overrides with an expanded Secret value: nodes show command lines and paths to others.
func (n *names) checkProcess() {
	w := n.spec.Workload
	if w == nil || w.Overrides == nil {
		return
	}
	warn := func(path, text string) {
		if variable := environment.Expanded(text, n.secrets); variable != "" {
			n.problems.Add(problem.Problem{
				Reason: problem.InvalidField, Severity: problem.Warning, Path: "spec.workload.overrides." + path,
				Detail: "refers to the environment variable " + variable + ", which has a value from a Secret: command lines and " +
					"paths are not secret",
				Fix: "let the program read the variable, or use another one",
			})
		}
	}
	for i, text := range w.Overrides.Command {
		warn(fmt.Sprintf("command[%d]", i), text)
	}
	for i, text := range w.Overrides.Args {
		warn(fmt.Sprintf("args[%d]", i), text)
	}
	for i := range w.Overrides.VolumeMounts {
		warn(fmt.Sprintf("volumeMounts[%d].subPathExpr", i), w.Overrides.VolumeMounts[i].SubPathExpr)
	}
}

// checkDocument warns about names of the base with a Secret value.
func (n *names) checkDocument() {
	warn := func(path string, name *yaml.Node) {
		if variable := secretVariableIn(document.Text(name), n.secrets); variable != "" {
			n.problems.Add(problem.Problem{
				Reason: problem.InvalidField, Severity: problem.Warning, Path: "config.yaml: " + path,
				Detail: "refers to the environment variable " + variable + ", which has a value from a Secret: the server shows " +
					"it to clients, although the status hides it",
				Fix: "use a variable from a ConfigMap if it is not secret",
			})
		}
	}
	for entry := range n.doc.Providers() {
		warn(entry.Path()+".provider_id", document.Child(entry.Node, "provider_id"))
		warn(entry.Path()+".provider_type", document.Child(entry.Node, "provider_type"))
	}
	lists := map[string]*yaml.Node{"connectors": n.doc.Section("connectors")}
	for _, name := range n.doc.ResourceLists() {
		lists["registered_resources."+name] = n.doc.Registered(name)
	}
	for _, path := range slices.Sorted(maps.Keys(lists)) {
		for i, entry := range document.Items(lists[path]) {
			for key, value := range document.Members(entry) {
				if strings.HasSuffix(key, "_id") {
					warn(fmt.Sprintf("%s[%d].%s", path, i, key), value)
				}
			}
		}
	}
}

// reference matches a reference to an environment variable, also a nested one.
var reference = regexp.MustCompile(`\$\{env\.([A-Z0-9_]+)(:\+)?`)

// secretVariableIn returns the first variable whose value would be a part of the text. Being set is not secret.
func secretVariableIn(text string, secrets map[string]bool) string {
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		if secrets[m[1]] && m[2] == "" {
			return m[1]
		}
	}
	return ""
}
