// SPDX-License-Identifier: Apache-2.0

package integrity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/integrity"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// checkEnvironment runs CheckEnvironment with variables of other steps; left names the remaining ones.
func checkEnvironment(t *testing.T, c *testCase, configured map[string]bool, variables ...environment.Variable) (found *problem.Collector, left string) {
	t.Helper()
	in := c.input(t)
	in.Backends, in.ContainerVariables = configured, []string{"OF_CALLER"}
	in.Environment.Add(variables...)
	found = &problem.Collector{}
	integrity.CheckEnvironment(t.Context(), in, found)
	var names []string
	for _, v := range in.Environment.Needed() {
		names = append(names, v.Name)
	}
	return found, strings.Join(names, " ")
}

func secret(name, path string) environment.Variable {
	return environment.Variable{Name: name, Path: path, Ref: parse.SecretReference{Name: "s", Key: "k"}}
}

// Proves: FR-022, R34.
func TestCheckEnvironmentRefusesTwoMeaningsOfOneVariable(t *testing.T) {
	problems, left := checkEnvironment(t, &testCase{}, nil, secret("A", "spec.a"), secret("B", "spec.b"), secret("A", "spec.c"))
	step.Problems(t, "", problems, "ConflictingFields spec.c\n")
	if left != "A B A" {
		t.Errorf("%s", left)
	}
}

// The user's variables override plain ones, but neither variables from Secrets nor the variable that limits the log.
//
// Proves: FR-022, R26.
func TestCheckEnvironmentOverridesReplaceVariablesExceptSecrets(t *testing.T) {
	plain := func(name string) environment.Variable {
		return environment.Variable{Name: name, Value: "ours", Path: "spec." + strings.ToLower(name)}
	}
	for name, c := range map[string]struct{ overrides, want, left string }{
		"others": {"[{name: X, value: x}]", "", "A S LLAMA_STACK_LOGGING"},
		"a plain one": {
			"[{name: X, value: x}, {name: A, value: theirs}]",
			"Warning ConflictingFields spec.workload.overrides.env[1]\n", "S LLAMA_STACK_LOGGING",
		},
		"a plain one, twice": {
			"[{name: A, value: theirs}, {name: A, value: again}]",
			"Warning ConflictingFields spec.workload.overrides.env[0]\n", "S LLAMA_STACK_LOGGING",
		},
		"one from a Secret": {
			"[{name: S, value: theirs}]", "ConflictingFields spec.workload.overrides.env[0]\n", "A S LLAMA_STACK_LOGGING",
		},
		"the one of the log": {
			"[{name: LLAMA_STACK_LOGGING, value: all=debug}]",
			"ConflictingFields spec.workload.overrides.env[0]\n",
			"A S LLAMA_STACK_LOGGING",
		},
	} {
		problems, left := checkEnvironment(t, &testCase{spec: "workload: {overrides: {env: " + c.overrides + "}}"}, nil,
			plain("A"), secret("S", "spec.s"), plain("LLAMA_STACK_LOGGING"))
		step.Problems(t, name, problems, c.want)
		if left != c.left {
			t.Errorf("%s: %s", name, left)
		}
	}
}

// A reference to an unset variable is reported once for each field that the user wrote.
//
// Proves: FR-075, R36.
func TestCheckEnvironmentWarnsOfUnsetVariables(t *testing.T) {
	for name, c := range map[string]struct{ endpoint, more, want string }{
		"none":                    {endpoint: "http://v"},
		"with a default":          {endpoint: "http://${env.HOST_X:=h}"},
		"set by the user":         {endpoint: "http://${env.HOST_X}", more: ", workload: {overrides: {env: [{name: HOST_X, value: h}]}}"},
		"possibly set by envFrom": {endpoint: "http://${env.HOST_X}", more: ", workload: {overrides: {envFrom: [{secretRef: {name: s}}]}}"},
		"unset, with other variables": {
			endpoint: "http://${env.HOST_X}", more: ", workload: {overrides: {env: [{name: OTHER_X, value: h}]}}",
			want: "Warning UndefinedVariable spec.providers.inference[0].endpoint\n",
		},
		"unset, with a workload": {
			endpoint: "http://${env.HOST_X}", more: ", workload: {replicas: 1}",
			want: "Warning UndefinedVariable spec.providers.inference[0].endpoint\n",
		},
		"of every container": {endpoint: "http://${env.HOSTNAME}:${env.KUBERNETES_SERVICE_PORT}/${env.PATH}"},
		"set by the caller":  {endpoint: "http://${env.OF_CALLER}"},
		"unset": {
			endpoint: "http://${env.HOST_X}",
			want:     "Warning UndefinedVariable spec.providers.inference[0].endpoint\n",
		},
		"two of them": {
			endpoint: "http://${env.HOST_X}:${env.PORT_X}/${env.HOST_X}",
			want:     "Warning UndefinedVariable spec.providers.inference[0].endpoint\n",
		},
	} {
		base := fmt.Sprintf("providers: {inference: [{provider_id: v, provider_type: remote::vllm, config: {base_url: %q}}]}\n", c.endpoint)
		problems, _ := checkEnvironment(t, &testCase{base: base, spec: fmt.Sprintf("{providers: {inference: [{provider: vllm, id: v, endpoint: %q}]}%s}", c.endpoint, c.more)}, nil)
		step.Problems(t, name, problems, c.want)
	}
	// References in the base are left to the image, and a field with a problem gets no second one.
	const base = "providers: {inference: [{provider_id: v, provider_type: remote::vllm, config: {base_url: '${env.HOST_X}', other: '${env.OTHER_X}'}}]}\n"
	problems, _ := checkEnvironment(t, &testCase{base: base}, nil)
	step.Problems(t, "only in the base", problems, "")
	for field, spec := range map[string]string{
		"externalProviders.inference.config.url": "{externalProviders: {inference: {providerId: v, image: i, config: {url: '${env.HOST_X}'}}}}",
		"auth.settings.endpoint":                 "{auth: {provider: custom, settings: {endpoint: 'https://${env.HOST_X}'}}}",
	} {
		problems, _ := checkEnvironment(t, &testCase{base: base, spec: spec}, nil)
		step.Problems(t, field, problems, "Warning UndefinedVariable spec."+field+"\n")
	}
	in := (&testCase{base: base, spec: "{providers: {inference: {provider: vllm, id: v, endpoint: '${env.HOST_X}'}}, resources: {models: ['${env.OTHER_X}']}}"}).input(t)
	found := &problem.Collector{}
	found.Add(problem.Problem{Reason: problem.InvalidField, Path: "spec.resources.models[0]"})
	integrity.CheckEnvironment(t.Context(), in, found)
	step.Problems(t, "beside another problem", found,
		"InvalidField spec.resources.models[0]\nWarning UndefinedVariable spec.providers.inference.endpoint\n")
}

// Proves: R34, R49.
func TestCheckEnvironmentKeepsPasswordsFromOtherDatabases(t *testing.T) {
	const path = "spec.storage.sql.connectionString"
	password, tls := secret("PGPASSWORD", path), secret("PGSSLMODE", path)
	const pgvector = "providers: {vector_io: [{provider_id: p, provider_type: remote::pgvector, config: {%s}}]}\n"
	for name, c := range map[string]struct {
		base, spec string
		configured map[string]bool
		variables  []environment.Variable
		want       string
	}{
		"no other source":         {base: vllm, variables: []environment.Variable{password, tls}},
		"no variable":             {base: fmt.Sprintf(pgvector, "")},
		"a provider with its own": {base: fmt.Sprintf(pgvector, "password: own"), variables: []environment.Variable{password}},
		"a provider that is off": {
			base: "providers: {vector_io: [{provider_id: __disabled__, provider_type: remote::pgvector, config: {}}]}\n", variables: []environment.Variable{password},
		},
		"a provider without one": {
			base: fmt.Sprintf(pgvector, ""), variables: []environment.Variable{password},
			want: "ConflictingFields config.yaml: providers.vector_io[0].config\n",
		},
		"a provider of the spec": {
			base: fmt.Sprintf(pgvector, ""), spec: "providers: {vectorIo: {provider: pgvector, id: p}}", variables: []environment.Variable{password},
			want: "ConflictingFields spec.providers.vectorIo\n",
		},
		"the TLS mode": {
			base: fmt.Sprintf(pgvector, "password: own"), variables: []environment.Variable{password, tls},
			want: "Warning ConflictingFields config.yaml: providers.vector_io[0].config\n",
		},
		"another backend of the storage": {
			base: "storage: {backends: {kv: {type: kv_postgres}, sql: {type: sql_postgres}}}\n", configured: map[string]bool{"sql": true},
			variables: []environment.Variable{password},
			want:      "ConflictingFields config.yaml: storage.backends.kv\n",
		},
		"another backend with all of its own": {
			base: "storage: {backends: {kv: {type: kv_postgres, password: own, ssl_mode: off}}}\n", variables: []environment.Variable{password, tls},
		},
	} {
		problems, _ := checkEnvironment(t, &testCase{base: c.base, spec: c.spec}, c.configured, c.variables...)
		step.Problems(t, name, problems, c.want)
	}
}

// The fix names newer release lines without shared passwords, if there are any.
func TestCheckEnvironmentNamesReleaseLinesThatShareNothing(t *testing.T) {
	fix := func(line string) string {
		c := &testCase{line: line, base: "storage: {backends: {kv: {type: kv_postgres}}}\n"}
		in := c.input(t)
		in.Environment.Add(secret("PGPASSWORD", "spec.storage.sql.connectionString"))
		found := &problem.Collector{}
		integrity.CheckEnvironment(t.Context(), in, found)
		return found.List()[0].Fix
	}
	for _, name := range catalog.Lines() {
		if line, _ := catalog.Get(name); line.Backends["sql_postgres"].Credentials != catalog.CredentialsURI {
			continue
		}
		if got, want := fix(catalog.Lines()[0]), "set one, or use release line "+name+" or a newer one, where clients do not share it"; got != want {
			t.Errorf("the oldest: %q, want %q", got, want)
		}
		break
	}
	if got := fix(step.Newest(t).Name); got != "set one" {
		t.Errorf("the newest: %q", got)
	}
}
