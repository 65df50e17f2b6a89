// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/llamastack/llama-stack-k8s-operator/internal/bounds"
)

const (
	// maxProviders bounds the list that is kept; R63 allows a hundred providers for each API.
	maxProviders = 1000
	// maxKept bounds all texts of the list that is kept together, in bytes.
	maxKept = 32 << 10
	// maxName bounds each of them, in bytes.
	maxName = 253
)

// versionForm is what releases of Python packages look like.
var versionForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+!_-]{0,63}$`)

// readVersion reads an answer of /v1/version.
func readVersion(body []byte) (string, error) {
	var answer struct {
		Version string `json:"version"`
	}
	if err := decode(body, &answer); err != nil {
		return "", err
	}
	if !versionForm.MatchString(answer.Version) {
		return "", errNotJSON
	}
	return strings.Clone(answer.Version), nil
}

// readProviders reads an answer of /v1/providers, and returns how many entries of its list it left out.
func readProviders(body []byte) ([]Provider, int, error) {
	var answer struct {
		Data []struct {
			API  string `json:"api"`
			ID   string `json:"provider_id"`
			Type string `json:"provider_type"`
		} `json:"data"`
	}
	if err := decode(body, &answer); err != nil {
		return nil, 0, err
	}
	type key struct{ api, id string }
	known, kept := map[key]bool{}, 0
	var list []Provider
	for _, p := range answer.Data {
		size := len(p.API) + len(p.ID) + len(p.Type)
		at := key{p.API, p.ID}
		if !isName(p.API) || !isName(p.ID) || !isName(p.Type) || known[at] || len(list) == maxProviders || kept+size > maxKept {
			continue
		}
		known[at], kept = true, kept+size
		list = append(list, Provider{API: p.API, ID: p.ID, Type: p.Type})
	}
	slices.SortFunc(list, func(a, b Provider) int { return cmp.Or(strings.Compare(a.API, b.API), strings.Compare(a.ID, b.ID)) })
	return list, len(answer.Data) - len(list), nil
}

// readModels reads an answer of /v1/models, in either form that release lines have. What is over the limits is left out.
func readModels(body []byte) ([]Model, error) {
	var answer struct {
		Data []struct {
			ID         string `json:"id"`
			Identifier string `json:"identifier"`
			Provider   string `json:"provider_id"`
			Metadata   struct {
				Provider string `json:"provider_id"`
			} `json:"custom_metadata"`
		} `json:"data"`
	}
	if err := decode(body, &answer); err != nil {
		return nil, err
	}
	known, kept := map[string]bool{}, 0
	var list []Model
	for _, m := range answer.Data {
		name, provider := cmp.Or(m.ID, m.Identifier), cmp.Or(m.Metadata.Provider, m.Provider)
		size := len(name) + len(provider)
		if !isName(name) || !isName(provider) || known[name] || len(list) == maxProviders || kept+size > maxKept {
			continue
		}
		known[name], kept = true, kept+size
		list = append(list, Model{Provider: strings.Clone(provider), Name: strings.Clone(name)})
	}
	slices.SortFunc(list, func(a, b Model) int {
		return cmp.Or(strings.Compare(a.Provider, b.Provider), strings.Compare(a.Name, b.Name))
	})
	return list, nil
}

// isName reports whether a text may stand in a status.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// decode reads JSON of a server. What is over the limits is not decoded at all.
func decode(body []byte, into any) error {
	limits := bounds.Limits{Bytes: maxBody, Levels: bounds.DocumentLevels, Nodes: bounds.DocumentNodes}
	if _, excess := bounds.Scan(body, limits); excess != nil || json.Unmarshal(body, into) != nil {
		return errNotJSON
	}
	return nil
}
