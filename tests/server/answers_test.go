// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/tests/backend/modelserverdouble"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// answerFaults compares a running server with the resource and returns the differences. If the server requires
// authentication, it checks only the status codes without a token.
func answerFaults(t *testing.T, b *booting, s *server) []string {
	t.Helper()
	if isProtected(b.booted) {
		return protectionFaults(t, s)
	}
	var models []string
	for _, m := range b.asked.models {
		models = append(models, m.provider+"/"+m.name)
	}
	return slices.Concat(
		providerFaults(t, b, s), s.missing(t, "/v1/models", models, "identifier", "id"), s.missing(t, "/v1/shields", b.asked.shields, "identifier", "id"),
		s.missing(t, "/v1/vector_stores", b.asked.vectorStores, "id"), toolFaults(t, b, s), listFaults(t, b, s), chatFaults(t, b, s),
		embeddingFaults(t, b, s),
	)
}

// embeddingFaults makes a vector store without the name of an embedding model, as client.vector_stores.create(name=…)
// does, if the resource has a default.
//
// Proves: R100.
func embeddingFaults(t *testing.T, b *booting, s *server) []string {
	t.Helper()
	if !b.asked.embeds {
		return nil
	}
	status, answer, err := framework.Send(t.Context(), client, http.MethodPost, s.url+"/v1/vector_stores",
		`{"name":"of a client"}`, "Content-Type", "application/json")
	framework.NoError(t, err)
	if status != http.StatusOK {
		return []string{fmt.Sprintf("a vector store without an embedding model: status %d: %s", status, answer)}
	}
	return nil
}

// isProtected reports whether the server of the configuration requires authentication.
func isProtected(booted map[string]any) bool {
	server, _ := booted["server"].(map[string]any)
	auth, _ := server["auth"].(map[string]any)
	return auth["provider_config"] != nil
}

// protectionFaults checks that only probes work without a token.
func protectionFaults(t *testing.T, s *server) (faults []string) {
	t.Helper()
	for path, want := range map[string]int{"/v1/health": http.StatusOK, "/v1/models": http.StatusUnauthorized} {
		var answer any
		if status := s.get(t, path, &answer); status != want {
			faults = append(faults, fmt.Sprintf("%s answers %d without a token, want %d", path, status, want))
		}
	}
	return faults
}

// providerFaults compares /v1/providers with the resource and with the booted configuration.
func providerFaults(t *testing.T, b *booting, s *server) (faults []string) {
	t.Helper()
	var answer struct {
		Data []struct {
			API  string `json:"api"`
			ID   string `json:"provider_id"`
			Type string `json:"provider_type"`
		} `json:"data"`
	}
	if status := s.get(t, "/v1/providers", &answer); status != http.StatusOK {
		return []string{fmt.Sprintf("/v1/providers answers %d", status)}
	}
	there := map[string]string{}
	for _, p := range answer.Data {
		there[p.API+"/"+p.ID] = p.Type
		if slices.Contains(b.asked.disabled, p.API) {
			faults = append(faults, fmt.Sprintf("/v1/providers has %s/%s, and %s is disabled", p.API, p.ID, p.API))
		}
	}
	for _, p := range b.asked.providers {
		providerType, ok := there[p.api+"/"+p.id]
		if !slices.Contains(b.asked.disabled, p.api) && (!ok || !p.is(providerType)) {
			faults = append(faults, fmt.Sprintf("/v1/providers has no %s/%s of type %s, but %q", p.api, p.id, p.providerType, providerType))
		}
	}
	if want := b.providersOn(); !maps.Equal(there, want) {
		faults = append(faults, fmt.Sprintf("/v1/providers has %v, the file %v", there, want))
	}
	return faults
}

// conditional matches a provider id that depends on an environment variable.
var conditional = regexp.MustCompile(`^\$\{env\.([A-Za-z0-9_]+):\+([^}]*)\}$`)

// providersOn returns the types of the enabled providers of the booted configuration, by API/ID.
func (b *booting) providersOn() map[string]string {
	on := map[string]string{}
	providers, _ := b.booted["providers"].(map[string]any)
	for api := range providers {
		for _, entry := range list(providers, api) {
			id := str(entry, "provider_id")
			if m := conditional.FindStringSubmatch(id); m != nil {
				if id = ""; b.env[m[1]] != "" {
					id = m[2]
				}
			}
			if id != "" {
				on[api+"/"+id] = str(entry, "provider_type")
			}
		}
	}
	return on
}

// listed returns the ids in a list of the server, and the HTTP status.
func (s *server) listed(t *testing.T, path string, fields ...string) (ids []string, status int) {
	t.Helper()
	var answer json.RawMessage
	status = s.get(t, path, &answer)
	var entries struct{ Data []map[string]any }
	if status == http.StatusOK && json.Unmarshal(answer, &entries) != nil {
		t.Fatalf("%s: not a list: %s", path, answer)
	}
	for _, entry := range entries.Data {
		for _, field := range fields {
			if id := str(entry, field); id != "" {
				ids = append(ids, id)
				break
			}
		}
	}
	return ids, status
}

// missing reports the ids that a list of the server lacks. fields are the possible names of the id, which differ
// between releases.
func (s *server) missing(t *testing.T, path string, asked []string, fields ...string) (faults []string) {
	t.Helper()
	if len(asked) == 0 {
		return nil
	}
	ids, status := s.listed(t, path, fields...)
	for _, id := range asked {
		if !slices.Contains(ids, id) {
			faults = append(faults, fmt.Sprintf("%s (%d) has no %s, but %q", path, status, id, ids))
		}
	}
	return faults
}

// toolFaults looks for the resource's tools in the server's lists of tools, tool groups and connectors.
func toolFaults(t *testing.T, b *booting, s *server) (faults []string) {
	t.Helper()
	if len(b.asked.tools) == 0 {
		return nil
	}
	var there []string
	listsGroups := false
	lists := map[string]string{"/v1/toolgroups": "identifier", "/v1/tools": "toolgroup_id"}
	if slices.Contains(connectorsUnlisted, b.line) {
		there = storedConnectors(t, b)
	} else {
		for _, path := range []string{"/v1alpha/connectors", "/v1beta/connectors", "/v1alpha/admin/connectors"} {
			lists[path] = "connector_id"
		}
	}
	for path, field := range lists {
		ids, status := s.listed(t, path, field)
		there = append(there, ids...)
		listsGroups = listsGroups || status == http.StatusOK && field != "connector_id"
	}
	slices.Sort(there)
	there = slices.Compact(there)
	for _, tool := range b.asked.tools {
		if !listsGroups && !strings.HasPrefix(tool, "mcp::") {
			continue // from 1.0 on, no list has tools; their providers are in /v1/providers
		}
		found := slices.ContainsFunc(namesOfTool(tool), func(id string) bool { return slices.Contains(there, id) })
		if !found {
			faults = append(faults, fmt.Sprintf("the server has no tool %s, but %q", tool, there))
		}
	}
	return faults
}

// listFaults probes the server as the operator does, and checks that each registered resource has its expected name.
func listFaults(t *testing.T, b *booting, s *server) (faults []string) {
	t.Helper()
	seen, err := serverprobe.New().Probe(t.Context(), serverprobe.Server{URL: s.url, Lists: b.lists})
	if err != nil {
		return []string{err.Error()}
	}
	if seen.Lists == nil {
		seen.Lists = map[string]serverprobe.List{}
	}
	seen.Lists[serverconfig.ListModels] = seen.Models
	for name := range b.lists {
		if why := seen.Lists[name].Error; why != "" && !strings.Contains(why, "responds with 404") { // API disabled
			faults = append(faults, why)
		}
	}
	for _, r := range b.registered {
		list, asked := seen.Lists[r.List]
		if !asked && r.List == serverconfig.ListConnectors && slices.Contains(connectorsUnlisted, b.line) {
			continue
		}
		if !asked || list.Error != "" || !slices.ContainsFunc(list.Entries, func(e serverprobe.Entry) bool { return e.Name == r.Name }) {
			faults = append(faults, fmt.Sprintf("the operator does not find %s among the %s: %+v", r.Name, r.List, list))
		}
	}
	return faults
}

// connectorsUnlisted are the release lines whose server answers requests for connectors with status 500. The tests read
// its database instead.
var connectorsUnlisted = []string{"1.0", "1.1", "1.2"}

var storedConnector = regexp.MustCompile(`"connector_id": ?"([^"]+)"`)

func storedConnectors(t *testing.T, b *booting) (ids []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(b.env["SQLITE_STORE_DIR"], "*.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the server has no database in %q: %v", b.env["SQLITE_STORE_DIR"], err)
	}
	for _, file := range files {
		content := framework.ReadFile(t, file)
		for _, m := range storedConnector.FindAllSubmatch(content, -1) {
			ids = append(ids, string(m[1]))
		}
	}
	return ids
}

// namesOfTool returns the names under which a server may list a tool. From 0.7 on, file search has another name.
func namesOfTool(tool string) []string {
	name := strings.TrimPrefix(strings.TrimPrefix(tool, "builtin::"), "mcp::")
	all := []string{tool, "builtin::" + name, "mcp::" + name, name}
	if name == "rag" {
		all = append(all, "builtin::file_search")
	}
	return all
}

// chatFaults sends a chat to each inference provider with an HTTP endpoint, through its first model.
func chatFaults(t *testing.T, b *booting, s *server) (faults []string) {
	t.Helper()
	for _, p := range b.asked.providers {
		at, _ := url.Parse(p.endpoint)
		model := slices.IndexFunc(b.asked.models, func(m requestedModel) bool { return m.provider == p.id && m.serves() })
		if p.api != "inference" || at.Scheme != "http" || model < 0 || slices.Contains(b.asked.disabled, p.api) {
			continue
		}
		name := b.asked.models[model].name
		body := fmt.Sprintf(`{"model":"%s/%s","messages":[{"role":"user","content":"ping"}]}`, p.id, name)
		status, answer := post(t, s.url+"/v1/chat/completions", body)
		var completion struct {
			Choices []struct{ Message struct{ Content string } }
		}
		_ = json.Unmarshal(answer, &completion)
		if want := modelserverdouble.Answer(name, "ping"); len(completion.Choices) != 1 || completion.Choices[0].Message.Content != want {
			faults = append(faults, fmt.Sprintf("chat with %s/%s: status %d, want %q: %s", p.id, name, status, want, answer))
		}
		if !b.backends.arrived(at.Host, name) {
			faults = append(faults, fmt.Sprintf("no chat with %s came in at %s with the key: %+v", name, at.Host, b.backends.doubles[at.Host].Requests()))
		}
	}
	return faults
}
