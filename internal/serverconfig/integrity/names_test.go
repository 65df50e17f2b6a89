// SPDX-License-Identifier: Apache-2.0

package integrity_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
	const tail = ", which has a value from a Secret: the server shows it to clients, "
	inSpec := func(variable string) string {
		return "InvalidField spec.resources.models[0]: refers to the environment variable " + variable + tail + "and the operator shows it in the status\n"
	}
	inBase := func(path, variable string) string {
		return "Warning InvalidField config.yaml: " + path + ": refers to the environment variable " + variable + tail + "although the status hides it\n"
	}
	onCommandLine := func(path, variable string) string {
		return "Warning InvalidField spec.workload.overrides." + path + ": refers to the environment variable " + variable +
			", which has a value from a Secret: command lines and paths are not secret\n"
	}
	models := func(name string) string { return "resources: {models: ['" + name + "']}" }
	for name, c := range map[string]struct{ base, spec, want string }{
		"of the operator":            {spec: models("${env.OWN}"), want: inSpec("OWN")},
		"of envFrom":                 {spec: models("${env.OF_SECRET}"), want: inSpec("OF_SECRET")},
		"in a part":                  {spec: models("a/${env.OWN:=b}"), want: inSpec("OWN")},
		"in the default of another":  {spec: models("${env.OTHER:=${env.OWN}}"), want: inSpec("OWN")},
		"where another is set":       {spec: models("${env.OTHER:+${env.OWN}}"), want: inSpec("OWN")},
		"whether it is set":          {spec: models("${env.OWN:+a}")},
		"in an escaped form":         {spec: `resources: {models: ["\u0024{env.OWN}"]}`, want: inSpec("OWN")},
		"another variable":           {spec: models("${env.OTHER}")},
		"by expansion":               {spec: models("${env.X}") + ", workload: {overrides: {env: [{name: X, value: a-$(OWN)}]}}", want: inSpec("X")},
		"by expansion of an earlier": {spec: models("${env.Z}") + ", workload: {overrides: {env: [{name: X, value: $(OF_SECRET)}, {name: Z, value: $(X)}]}}", want: inSpec("Z")},
		"of a ConfigMap":             {spec: models("${env.X}") + ", workload: {overrides: {env: [{name: X, valueFrom: {configMapKeyRef: {name: c, key: k}}}]}}"},
		"in the command": {
			spec: "workload: {overrides: {command: [sh, -c, 'x $(OWN) $(OTHER)'], args: [$(OF_SECRET)], env: [{name: A, value: $(OWN)}]}}",
			want: onCommandLine("command[2]", "OWN") + onCommandLine("args[0]", "OF_SECRET"),
		},
		"escaped in the command": {spec: "workload: {overrides: {command: ['$$(OWN)', $OWN]}}"},
		"in a path": {
			spec: "workload: {overrides: {volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /mnt, subPathExpr: $(OWN)}]}}",
			want: onCommandLine("volumeMounts[1].subPathExpr", "OWN"),
		},
		"of the base": {
			base: "registered_resources: {models: [{model_id: '${env.OWN}', provider_model_id: '${env.OF_SECRET:=x}', metadata: {a: '${env.OWN}'}}]}\n" +
				"connectors: [{connector_id: '${env.OWN}', url: '${env.OWN}'}]\n" +
				"providers: {inference: [{provider_id: '${env.OWN:+v}', provider_type: x}, {provider_id: '${env.OWN:=v}', provider_type: x, config: {client_id: '${env.OWN}'}}]}\n",
			want: inBase("providers.inference[1].provider_id", "OWN") + inBase("connectors[0].connector_id", "OWN") +
				inBase("registered_resources.models[0].model_id", "OWN") + inBase("registered_resources.models[0].provider_model_id", "OF_SECRET"),
		},
	} {
		in := (&testCase{base: c.base, spec: "{" + c.spec + "}"}).input(t)
		in.ContainerVariables, in.Environment = []string{"OTHER"}, environment.NewSet(in.Spec, "OF_SECRET")
		in.Environment.Add(secret("OWN", "spec.own"))
		found := &problem.Collector{}
		integrity.CheckEnvironment(t.Context(), in, found)
		if diff := cmp.Diff(c.want, step.Problems(found)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
