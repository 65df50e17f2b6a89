// SPDX-License-Identifier: Apache-2.0

package migrate_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/migrate"
)

// head is the begin of files of which the release lines from 0.5 on need no more.
const head = "version: 2\ndistro_name: a\nproviders: {}\nserver: {insecure: true}\n"

func TestRules(t *testing.T) {
	for name, c := range map[string]struct{ line, file, want string }{
		"forms of references": {
			"1.5", head + "external_providers_dir: ${env.A:a}-${env.B:-b}-${env.C:?c}-${env.D:}-${env.E:=e}-${env.F:+f}-${env.g:h}\n",
			head + "external_providers_dir: ${env.A:=a}-${env.B:=b}-${env.C}-${env.D:=}-${env.E:=e}-${env.F:+f}-${env.g:h}\n",
		},
		"name": {
			"0.4", "version: 1\ndistro_name: a # mine\nproviders: {}\nstorage: {}\n",
			"version: 2\nimage_name: a # mine\nproviders: {}\nstorage: {}\n",
		},
		"no name": {
			"1.1", "version: 2\nproviders: {}\n", "version: 2\ndistro_name: custom\nproviders: {}\n",
		},
		"aliases and merge keys": {
			"1.5", head + "models:\n- &m {model_id: a, provider_id: b}\n- {<<: *m, model_id: c}\n",
			head + "registered_resources:\n  models:\n  - {model_id: a, provider_id: b}\n  - {model_id: c, provider_id: b}\n",
		},
		"lists at both places": {
			"1.5", head + "registered_resources:\n  models:\n  - {model_id: a, provider_id: b}\nmodels:\n# new\n- {model_id: c, provider_id: d}\n",
			head + "registered_resources:\n  models:\n  - {model_id: a, provider_id: b}\n  # new\n  - {model_id: c, provider_id: d}\n",
		},
		"connectors of 0.4": {
			"1.5", head + "registered_resources:\n  connectors: [{connector_id: a, connector_type: mcp, url: b}]\n  models: []\n",
			head + "registered_resources:\n  models: []\nconnectors: [{connector_id: a, connector_type: mcp, url: b}]\n",
		},
		"an empty list of APIs of an older release line": {
			"1.5", "version: 2\ndistro_name: a\napis: []\nproviders: {}\nserver: {insecure: true, cors: true}\n",
			"version: 2\ndistro_name: a\nproviders: {}\nserver: {insecure: true}\n",
		},
		"null": {
			"1.4", head + "apis: null\nregistered_resources: {models: null}\nstorage: {stores: null}\n",
			head + "registered_resources: {}\nstorage: {}\n",
		},
		"no storage": {
			"0.4", "image_name: a\nproviders: {}\n",
			"image_name: a\nproviders: {}\nstorage:\n  backends:\n    kv_default:\n      type: kv_sqlite\n" +
				"      db_path: ${env.SQLITE_STORE_DIR:=/.llama}/kvstore.db\n    sql_default:\n      type: sql_sqlite\n" +
				"      db_path: ${env.SQLITE_STORE_DIR:=/.llama}/sql_store.db\n",
		},
		"lists in the style of the file": {
			"1.5", head + "vector_dbs:\n    - vector_db_id: a\n      embedding_model: b\n",
			head + "registered_resources:\n  vector_stores:\n    - vector_store_id: a\n      embedding_model: b\n",
		},
		"a part that no release line knows": {"1.5", head + "mine: {url: a}\n", head + "mine: {url: a}\n"},
	} {
		got, changes, err := migrate.Rewrite([]byte(c.file), lineOf(t, c.line))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s\n%+v", name, diff, changes)
		}
		if migrate.Changed(changes) != (c.want != c.file) {
			t.Errorf("%s: %+v", name, changes)
		}
	}
}

func TestRewriteReportsFilesThatAreNoConfiguration(t *testing.T) {
	for _, text := range []string{"", "- a\n", "a: [", "apiVersion: v1\nkind: ConfigMap\n", "providers: {inference: {}}\n"} {
		_, _, err := migrate.Rewrite([]byte(text), lineOf(t, "1.5"))
		if err == nil || !strings.Contains(err.Error(), document.BaseFix) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A rewritten file is a file of the release line: a second run changes nothing.
func FuzzRewrite(f *testing.F) {
	f.Add([]byte(head), uint8(0))
	f.Add([]byte("metadata_store: {type: redis, host: a}\nmodels: [{model_id: a}]\napis: [agents, telemetry]\n"), uint8(3))
	f.Add([]byte("providers: {agents: [{provider_type: \"inline::meta-reference\", config: {persistence_store: {type: sqlite}}}]}\n"), uint8(11))
	f.Add([]byte("storage: {stores: {prompts: {backend: kv, namespace: a}}}\nserver: {auth: {provider_type: a, config: 1}}\n"), uint8(7))
	names := []string{"0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "1.0", "1.1", "1.2", "1.3", "1.4", "1.5"}
	f.Fuzz(func(t *testing.T, content []byte, at uint8) {
		line := lineOf(t, names[int(at)%len(names)])
		result, _, err := migrate.Rewrite(content, line)
		if err != nil {
			return
		}
		again, changes, err := migrate.Rewrite(result, line)
		if err != nil {
			t.Fatalf("the result cannot be read: %v\n%s", err, result)
		}
		if !bytes.Equal(again, result) {
			t.Errorf("changes again on %s: %+v\n%s\n---\n%s", line.Name, changes, result, again)
		}
	})
}
