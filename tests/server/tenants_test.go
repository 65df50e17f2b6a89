// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// make posts a JSON body and returns the id of the created object.
func (s *authServer) make(t *testing.T, path, body string, as header) string {
	t.Helper()
	status, answer := s.do(t, http.MethodPost, path, body, as)
	var made struct{ ID string }
	if err := json.Unmarshal(answer, &made); err != nil || status != http.StatusOK || made.ID == "" {
		t.Fatalf("POST %s: status %d, %v: %s\n%s", path, status, err, answer, tail(s.log()))
	}
	return made.ID
}

var inPostgres = strings.NewReplacer(
	`{type: kv_sqlite, db_path: "${env.SQLITE_STORE_DIR}/kv.db"}`,
	`{type: kv_postgres, host: localhost, port: "${env.PG_PORT}", db: "${env.PG_DB}", user: "${env.PG_DB}", password: "${env.PG_PASSWORD}"}`,
	`{type: sql_sqlite, db_path: "${env.SQLITE_STORE_DIR}/sql.db"}`,
	`{type: sql_postgres, host: localhost, port: "${env.PG_PORT}", db: "${env.PG_DB}", user: "${env.PG_DB}", password: "${env.PG_PASSWORD}"}`,
)

// bootTenants boots a release with a spec.auth over a base, with additional variables.
func bootTenants(t *testing.T, r release, base, auth string, more ...string) *authServer {
	t.Helper()
	dir := t.TempDir()
	file, env := generateAuth(t, r, base, dir, auth)
	// In the default format, the server needs seconds of processor time to log why it denied a request.
	url, log := bootRelease(t, r, file, append(append(more, env...), "OGX_LOG_FORMAT=json")...)
	return &authServer{url, log}
}

// An issuer signs the tokens. The data is in PostgreSQL if the release line supports tenants there.
//
// Proves: R83 (a tenant does not see files, conversations, responses or vector stores of another one, even if their
// users have the same attributes; a request without a tenant is refused).
func TestServerSeparatesTenants(t *testing.T) {
	t.Parallel()
	database := framework.StartPostgres(t, framework.Loopback)
	double, err := modelserverdouble.New(modelserverdouble.Config{Models: []string{"embedder", "chat"}, Key: "none"})
	framework.NoError(t, err)
	backend := httptest.NewServer(double)
	t.Cleanup(backend.Close)
	forOldestAndNewest(t, hasTenants, func(t *testing.T, r release) {
		name, password := "tenants_of_"+strings.ReplaceAll(r.version, ".", "_"), canaries.New()
		database.Account(t, name, password, name)
		from := newIssuer(t)
		base, kept := string(framework.ReadFile(t, "testdata/tenants-base.yaml")), !lineOf(t, r).TenantsBreakPostgres
		if kept {
			base = inPostgres.Replace(base)
		}
		s := bootTenants(t, r, base, fmt.Sprintf(`
  provider: oauth2
  settings: {issuer: %q, audience: %s, tls_cafile: %q, jwks: {uri: %q}, tenant_claim: org}
  tenancy: {mode: multi}`, from.url, authAudience, from.caFile, from.discovered(t)),
			"VLLM_URL="+backend.URL+"/v1", "PG_PORT="+strconv.Itoa(database.Port), "PG_DB="+name, "PG_PASSWORD="+password)
		s.wantProbes(t, r)
		user := func(name, tenant string) header {
			return bearer(from.token(t, map[string]any{"sub": name, "org": tenant, "groups": []string{"t"}}))
		}
		alice, bob, carol := user("alice", "a"), user("bob", "b"), user("carol", "a")
		s.wantStatus(t, http.StatusUnauthorized, "a user of no tenant", user("alice", ""))
		s.wantStatus(t, http.StatusOK, "a user of a tenant", alice)

		conversation := s.make(t, "/v1/conversations", `{"items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"recall"}]}]}`, alice)
		response := s.make(t, "/v1/responses", `{"model":"vllm/chat","input":"recall"}`, alice)
		store := s.make(t, "/v1/vector_stores", `{"name":"handbook","embedding_model":"vllm/embedder"}`, alice)
		for _, kept := range []struct{ list, id, below string }{
			{"/v1/files", s.upload(t, alice), "/content"},
			{"/v1/vector_stores", store, "/files"},
			{"/v1/responses", response, "/input_items"},
			{"/v1/conversations", conversation, "/items"}, // which cannot be listed
		} {
			one := kept.list + "/" + kept.id
			for _, method := range []string{http.MethodGet, http.MethodDelete} {
				if status, answer := s.do(t, method, one, "", bob); status == http.StatusOK || strings.Contains(string(answer), "handbook") {
					t.Errorf("%s %s as another tenant: status %d: %s", method, one, status, answer)
				}
			}
			if status, answer := s.do(t, http.MethodGet, one+kept.below, "", bob); status == http.StatusOK {
				t.Errorf("%s%s as another tenant: %s", one, kept.below, answer)
			}
			for who, as := range map[string]header{"alice": alice, "carol": carol} {
				if status, answer := s.do(t, http.MethodGet, one, "", as); status != http.StatusOK {
					t.Errorf("%s as %s, of the tenant: status %d: %s", one, who, status, answer)
				}
			}
			if kept.list == "/v1/conversations" {
				continue
			}
			if _, answer := s.do(t, http.MethodGet, kept.list, "", bob); strings.Contains(string(answer), kept.id) {
				t.Errorf("another tenant lists %s: %s", one, answer)
			}
			if _, answer := s.do(t, http.MethodGet, kept.list, "", carol); !strings.Contains(string(answer), kept.id) {
				t.Errorf("a user of the tenant with the same team does not list %s: %s", one, answer)
			}
		}
		if status, answer := s.do(t, http.MethodPost, "/v1/vector_stores/"+store+"/search", `{"query":"x"}`, bob); status == http.StatusOK {
			t.Errorf("another tenant searches the vector store: %s", answer)
		}
		if tables := database.Query(t, fmt.Sprintf("\\c %s\nSELECT string_agg(tablename, ' ') FROM pg_tables WHERE schemaname = 'public'", name)); kept != strings.Contains(tables, "openai_conversations") {
			t.Errorf("PostgreSQL has the tables %q", tables)
		}
	})
}
