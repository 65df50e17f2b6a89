// SPDX-License-Identifier: Apache-2.0

package integrity_test

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/integrity"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/tests/expect"
	"github.com/llamastack/llama-stack-k8s-operator/tests/step"
)

// Proves: R68, R34 (requirements of the server's loader; parts that only the image knows are accepted).
func TestCheckShapeFindsFieldsThatTheLoaderRejects(t *testing.T) {
	for name, c := range map[string]struct{ sections, want string }{
		"nothing wrong": {"providers: {inference: [{provider_id: a, provider_type: 'remote::openai'}]}\nstorage: {backends: {x: {type: kv_sqlite, db_path: /x}}}", ""},
		"no providers":  {"apis: []", "providers"},
		"backend without a type": {
			"providers: {}\nstorage: {backends: {x: {db_path: /x}}}", "storage.backends.x.type",
		},
		"backend of an unknown type": {
			"providers: {}\nstorage: {backends: {x: {type: kv_etcd}}}", "storage.backends.x.type",
		},
		"backend by environment":         {"providers: {}\nstorage: {backends: {x: {type: '${env.T:=kv_etcd}'}}}", ""},
		"backend without a field":        {"providers: {}\nstorage: {backends: {x: {type: kv_sqlite}}}", "storage.backends.x.db_path"},
		"provider without an id":         {"providers: {inference: [{provider_type: 'remote::openai'}]}", "providers.inference[0].provider_id"},
		"provider without a type":        {"providers: {inference: [{provider_id: a}]}", "providers.inference[0].provider_type"},
		"provider of an unknown type":    {"providers: {inference: [{provider_id: a, provider_type: 'remote::x'}]}", "providers.inference[0].provider_type"},
		"the same, by environment":       {"providers: {inference: [{provider_id: '${env.A:+a}', provider_type: 'remote::x'}]}", ""},
		"the same, of a package":         {"providers: {inference: [{provider_id: a, provider_type: 'remote::x', module: x}]}", ""},
		"the same, of a directory":       {"external_providers_dir: /x\nproviders: {inference: [{provider_id: a, provider_type: 'remote::x'}]}", ""},
		"provider without a field":       {"providers: {vector_io: [{provider_id: a, provider_type: 'inline::faiss'}]}", "config.persistence"},
		"model without a name":           {"providers: {}\nregistered_resources: {models: [{provider_id: a}]}", "registered_resources.models[0].model_id"},
		"authentication of unknown type": {"providers: {}\nserver: {auth: {provider_config: {type: x}}}", "server.auth.provider_config.type"},
		"authentication without a field": {"providers: {}\nserver: {auth: {provider_config: {type: custom}}}", "server.auth.provider_config.endpoint"},
		"authentication by environment":  {"providers: {}\nserver: {auth: {provider_config: {type: '${env.A:+custom}'}}}", ""},
		"unknown action": {
			"providers: {}\nserver: {auth: {access_policy: [{permit: {actions: [read, fly]}}]}}", "server.auth.access_policy[0].permit.actions",
		},
	} {
		t.Run(name, func(t *testing.T) {
			problems := &problem.Collector{}
			spec := step.Spec(t, "{}")
			integrity.CheckShape(t.Context(), &integrity.Input{
				Document: step.Document(t, c.sections), Line: step.Line(t, "0.7"), Spec: spec, Environment: environment.NewSet(spec), Providers: []parse.ProviderGroup{},
			}, problems)
			list := problems.List()
			if c.want == "" && len(list) > 0 || c.want != "" && (len(list) != 1 || list[0].Reason != problem.InvalidBaseConfig || !strings.Contains(list[0].Path, c.want)) {
				t.Errorf("%v, want %q", list, c.want)
			}
			expect.Message(t, "", step.Texts(problems))
		})
	}
}

// Proves: R16 (a server newer than the catalog may accept more, so the problems are warnings).
func TestCheckShapeOnlyWarnsForServersNewerThanCatalog(t *testing.T) {
	const unknownType, noProviders = "providers: {inference: [{provider_id: a, provider_type: 'remote::x'}]}", "apis: []"
	for _, c := range []struct {
		line, release, sections string
		want                    problem.Severity
	}{
		{catalog.Newest(), "99.0.0", unknownType, problem.Warning},
		{catalog.Newest(), "99.0.0", noProviders, problem.Warning},
		{"0.7", "v0.7.10-cuda", unknownType, problem.Warning},
		{"0.7", "0.7.10", noProviders, problem.Error},
		{"0.7", "0.7.3", unknownType, problem.Error},
		{"0.7", "0.7", unknownType, problem.Error},
		{"0.7", "", unknownType, problem.Error},
	} {
		problems := &problem.Collector{}
		spec := step.Spec(t, "{}")
		integrity.CheckShape(t.Context(), &integrity.Input{
			Document: step.Document(t, c.sections), Line: step.Line(t, c.line), Release: c.release, Spec: spec, Environment: environment.NewSet(spec),
		}, problems)
		list := problems.List()
		if len(list) != 1 || list[0].Severity != c.want || strings.Contains(list[0].Fix, "unless server release "+c.release+",") != (c.want == problem.Warning) {
			t.Errorf("%s, release %s: %v, want one of severity %s", c.line, c.release, list, c.want)
		}
	}
}

// Proves: R68 (servers with prompts and connectors in SQL convert references in the former form).
func TestCheckAcceptsOldStoreFormat(t *testing.T) {
	const backends = "storage: {backends: {kv_default: {type: kv_sqlite}, sql_default: {type: sql_sqlite}, state: {type: kv_sqlite}}, stores: "
	for _, c := range []struct{ line, stores, want string }{
		{"1.0", "{prompts: {backend: kv_default, namespace: p}, connectors: {backend: kv_default, namespace: c}}}", ""},
		{"0.7", "{prompts: {backend: kv_default, namespace: p}, connectors: {backend: kv_default, namespace: c}}}", ""},
		{"1.0", "{prompts: {namespace: p}}}", ""},
		{"1.0", "{prompts: {backend: state, namespace: p}}}", `the storage backend "state" is kv_sqlite, but type sql_… is required`},
		{"1.0", "{prompts: {backend: kv_gone, namespace: p}}}", `there is no storage backend "sql_gone"`},
		{"1.0", "{conversations: {backend: kv_default, namespace: p}}}", `the storage backend "kv_default" is kv_sqlite, but type sql_… is required`},
	} {
		problems := &problem.Collector{}
		spec := step.Spec(t, "{}")
		integrity.Check(t.Context(), &integrity.Input{
			Document: step.Document(t, backends+c.stores), Line: step.Line(t, c.line), Spec: spec, Environment: environment.NewSet(spec),
		}, problems)
		list := problems.List()
		if c.want == "" && len(list) > 0 || c.want != "" && (len(list) != 1 || !strings.Contains(list[0].Detail, c.want)) {
			t.Errorf("%s: %s: %v, want %q", c.line, c.stores, list, c.want)
		}
	}
}
