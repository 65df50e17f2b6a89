// SPDX-License-Identifier: Apache-2.0

package status

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/inventory"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// inventory returns the running configuration with its environment.
func (f *facts) inventory() *inventory.Config {
	c := &inventory.Config{Base: f.config, Variables: document.Variables{}}
	if d := f.deployment(); d != nil {
		c.Variables = inventory.PodVariables(&d.Spec.Template.Spec)
	}
	if r := f.cr.Status.ResolvedDistribution; r != nil {
		c.Line, _ = catalog.Get(r.ServerLine)
	}
	return c
}

// chatCommands returns commands that query the first chat model.
func chatCommands(cr *v1alpha2.LlamaStackDistribution, models []inventory.Model) []string {
	model := inventory.FirstChat(models)
	if model == "" || cr.Status.AvailableReplicas == 0 {
		return nil
	}
	scheme, insecure := "http", ""
	if strings.HasPrefix(cr.Status.ServiceURL, "https:") {
		scheme, insecure = "https", "--insecure "
	}
	port := objects.Port(&cr.Spec)
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body, err := json.Marshal(struct {
		Model    string    `json:"model"`
		Messages []message `json:"messages"`
	}{model, []message{{"user", "Hello"}}})
	if err != nil {
		return nil
	}
	return []string{
		fmt.Sprintf("kubectl -n %s port-forward service/%s %d", cr.Namespace, names.ServiceName(cr.Name), port),
		fmt.Sprintf("curl %s%s://localhost:%d/v1/chat/completions -H 'Content-Type: application/json' -d '%s'",
			insecure, scheme, port, strings.ReplaceAll(string(body), "'", `'\''`)),
	}
}
