// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// The operator's program with the highest log level that its flag takes: it reads Secrets, writes one that it derives from them, and
// complains about some, and nothing that it prints contains a value. Among them are a client secret and API keys of spec.auth.
//
// Proves: R7, R83, NFR-003.
func TestProgramPrintsNoSecretValueAtTheHighestLogLevel(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	key, password, dsnPassword := canaries.New(), canaries.New(), canaries.New()
	e.createSecret("keys", map[string]string{
		"token": key, "redis": password, "broken": key + "\n", "client": canaries.New(), "team-a": canaries.New(),
		"postgres": canaries.Add("postgresql://user:" + url.QueryEscape(dsnPassword) + "@db:5432/stack?sslmode=require"),
	})
	s := &serving{t: t, cluster: cluster}
	p := s.run(buildManager(t), "--zap-log-level=127", "--watch-namespaces="+e.namespace, "--manage-certificates=false")
	stack := func(name, key string) string {
		return manifest(name, fmt.Sprintf(`
distribution: {name: starter}
auth:
  provider: oauth2
  settings: {introspection: {url: 'https://issuer.example.com/introspect', client_id: stack}}
  secretRefs: {introspection.client_secret: {name: keys, key: client}}
providers: {inference: {provider: vllm, endpoint: 'http://vllm:8000', apiKey: {name: keys, key: %s}}}
storage:
  kv: {type: redis, endpoint: 'redis:6379', password: {name: keys, key: redis}}
  sql: {type: postgres, connectionString: {name: keys, key: postgres}}
`, key))
	}
	withKeys := func(name, key string) string {
		return manifest(name, fmt.Sprintf(`
distribution: {image: 'docker.io/llamastack/distribution-starter:%s.0'}
auth: {provider: api-key, secretRefs: {api_keys.team-a: {name: keys, key: %s}}}
`, catalog.Newest(), key))
	}
	for name, text := range map[string]string{"good": stack("good", "token"), "good-keys": withKeys("good-keys", "team-a")} {
		e.mustApply(text)
		e.waitFor(name, v1alpha2.ConditionSecretsResolved, metav1.ConditionTrue, "")
	}
	for name, text := range map[string]string{"bad": stack("bad", "broken"), "bad-keys": withKeys("bad-keys", "broken")} {
		e.mustApply(text)
		e.waitFor(name, v1alpha2.ConditionSecretsResolved, metav1.ConditionFalse, string(problem.InvalidSecret))
	}
	var secrets corev1.SecretList
	if err := admin.List(t.Context(), &secrets, client.InNamespace(e.namespace)); err != nil {
		t.Fatal(err)
	}
	derived := 0
	for i := range secrets.Items {
		if metav1.GetControllerOf(&secrets.Items[i]) != nil {
			derived++
			for _, value := range secrets.Items[i].Data {
				if text := string(value); strings.Contains(text, "canary") {
					canaries.Add(text)
				}
			}
		}
	}
	p.terminate(t)
	printed := p.log.String()
	if derived == 0 || !strings.Contains(printed, `"requested":127`) || !strings.Contains(printed, `"level":"Level(-`) {
		t.Fatalf("%d Secrets were derived; nothing that only a high log level prints was printed:\n%s", derived, printed)
	}
	for _, found := range canaries.In(printed) {
		t.Errorf("the program prints %s", found)
	}
}
