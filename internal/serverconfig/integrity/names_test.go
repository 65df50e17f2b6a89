// SPDX-License-Identifier: Apache-2.0

package integrity_test

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/integrity"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// The golden case wrong-names-from-secrets covers the fields of the spec. This test covers the ways in which a variable
// gets the value of a Secret, and names in the base.
//
// Proves: R7.
func TestNamesHoldNoValuesOfSecrets(t *testing.T) {
	const inSpec = "InvalidField spec.resources.models[0]\n"
	inBase := func(path string) string { return "Warning InvalidField config.yaml: " + path + "\n" }
	onCommandLine := func(path string) string { return "Warning InvalidField spec.workload.overrides." + path + "\n" }
	models := func(name string) string { return "resources: {models: ['" + name + "']}" }
	for name, c := range map[string]struct{ base, spec, want string }{
		"of the operator":            {spec: models("${env.OWN}"), want: inSpec},
		"of envFrom":                 {spec: models("${env.OF_SECRET}"), want: inSpec},
		"in a part":                  {spec: models("a/${env.OWN:=b}"), want: inSpec},
		"in the default of another":  {spec: models("${env.OTHER:=${env.OWN}}"), want: inSpec},
		"where another is set":       {spec: models("${env.OTHER:+${env.OWN}}"), want: inSpec},
		"whether it is set":          {spec: models("${env.OWN:+a}")},
		"in an escaped form":         {spec: `resources: {models: ["\u0024{env.OWN}"]}`, want: inSpec},
		"another variable":           {spec: models("${env.OTHER}")},
		"by expansion":               {spec: models("${env.X}") + ", workload: {overrides: {env: [{name: X, value: a-$(OWN)}]}}", want: inSpec},
		"by expansion of an earlier": {spec: models("${env.Z}") + ", workload: {overrides: {env: [{name: X, value: $(OF_SECRET)}, {name: Z, value: $(X)}]}}", want: inSpec},
		"of a ConfigMap":             {spec: models("${env.X}") + ", workload: {overrides: {env: [{name: X, valueFrom: {configMapKeyRef: {name: c, key: k}}}]}}"},
		"in the command": {
			spec: "workload: {overrides: {command: [sh, -c, 'x $(OWN) $(OTHER)'], args: [$(OF_SECRET)], env: [{name: A, value: $(OWN)}]}}",
			want: onCommandLine("command[2]") + onCommandLine("args[0]"),
		},
		"escaped in the command": {spec: "workload: {overrides: {command: ['$$(OWN)', $OWN]}}"},
		"in a path": {
			spec: "workload: {overrides: {volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /mnt, subPathExpr: $(OWN)}]}}",
			want: onCommandLine("volumeMounts[1].subPathExpr"),
		},
		"of the base": {
			base: "registered_resources: {models: [{model_id: '${env.OWN}', provider_model_id: '${env.OF_SECRET:=x}', metadata: {a: '${env.OWN}'}}]}\n" +
				"connectors: [{connector_id: '${env.OWN}', url: '${env.OWN}'}]\n" +
				"providers: {inference: [{provider_id: '${env.OWN:+v}', provider_type: x}, {provider_id: '${env.OWN:=v}', provider_type: x, config: {client_id: '${env.OWN}'}}]}\n",
			want: inBase("providers.inference[1].provider_id") + inBase("connectors[0].connector_id") +
				inBase("registered_resources.models[0].model_id") + inBase("registered_resources.models[0].provider_model_id"),
		},
	} {
		in := (&testCase{base: c.base, spec: "{" + c.spec + "}"}).input(t)
		in.ContainerVariables, in.Environment = []string{"OTHER"}, environment.NewSet(in.Spec, "OF_SECRET")
		in.Environment.Add(secret("OWN", "spec.own"))
		found := &problem.Collector{}
		integrity.CheckEnvironment(t.Context(), in, found)
		step.Problems(t, name, found, c.want)
	}
}
