// SPDX-License-Identifier: Apache-2.0

package serverprobe

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

const (
	// maxProviders bounds each kept list; the API allows 100 providers for each API of the server.
	maxProviders = 1000
	// maxListBytes bounds the texts of the lists of providers and of models, in bytes; maxOtherListBytes those of other
	// lists.
	maxListBytes      = 32 << 10
	maxOtherListBytes = 16 << 10
	maxName           = 253
)

// versionForm matches versions of Python packages.
var versionForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z.+!_-]{0,63}$`)

func readVersion(body []byte) (string, error) {
	var response struct {
		Version string `json:"version"`
	}
	if err := decode(body, &response); err != nil {
		return "", err
	}
	if !versionForm.MatchString(response.Version) {
		return "", errNotJSON
	}
	return strings.Clone(response.Version), nil
}

// readProviders decodes a response of /v1/providers. It also returns the number of entries left out.
func readProviders(body []byte) ([]Provider, int, error) {
	var response struct {
		Data []struct {
			API  string `json:"api"`
			ID   string `json:"provider_id"`
			Type string `json:"provider_type"`
		} `json:"data"`
	}
	if err := decode(body, &response); err != nil {
		return nil, 0, err
	}
	type key struct{ api, id string }
	known, kept := map[key]bool{}, 0
	var list []Provider
	for _, p := range response.Data {
		size := len(p.API) + len(p.ID) + len(p.Type)
		at := key{p.API, p.ID}
		if !isName(p.API) || !isName(p.ID) || !isName(p.Type) || known[at] || len(list) == maxProviders ||
			kept+size > maxListBytes {
			continue
		}
		known[at], kept = true, kept+size
		list = append(list, Provider{API: p.API, ID: p.ID, Type: p.Type})
	}
	slices.SortFunc(list, func(a, b Provider) int {
		return cmp.Or(strings.Compare(a.API, b.API), strings.Compare(a.ID, b.ID))
	})
	return list, len(response.Data) - len(list), nil
}

// readModels decodes a response of /v1/models of any release line.
func readModels(body []byte) (List, error) {
	var response struct {
		Data []struct {
			ID         string `json:"id"`
			Identifier string `json:"identifier"`
			Provider   string `json:"provider_id"`
			Metadata   struct {
				Provider string `json:"provider_id"`
			} `json:"custom_metadata"`
		} `json:"data"`
	}
	if err := decode(body, &response); err != nil {
		return List{}, err
	}
	entries := make([]Entry, len(response.Data))
	for i, m := range response.Data {
		entries[i] = Entry{Name: cmp.Or(m.ID, m.Identifier), Provider: cmp.Or(m.Metadata.Provider, m.Provider)}
	}
	return truncate(entries, maxListBytes, true), nil
}

// readList decodes a list of vector stores, tool groups or connectors.
func readList(body []byte) (List, error) {
	var response struct {
		Data []struct {
			ID         string `json:"id"`
			Identifier string `json:"identifier"`
			Connector  string `json:"connector_id"`
			Provider   string `json:"provider_id"`
		} `json:"data"`
		More bool `json:"has_more"`
	}
	if err := decode(body, &response); err != nil {
		return List{}, err
	}
	entries := make([]Entry, len(response.Data))
	for i, e := range response.Data {
		entries[i] = Entry{Name: cmp.Or(e.Connector, e.Identifier, e.ID), Provider: e.Provider}
	}
	list := truncate(entries, maxOtherListBytes, false)
	list.Truncated = list.Truncated || response.More
	return list, nil
}

// truncate returns the valid entries up to a total size in bytes.
func truncate(entries []Entry, maxBytes int, needsProvider bool) (l List) {
	known, kept := map[string]bool{}, 0
	for _, e := range entries {
		size := len(e.Name) + len(e.Provider)
		named := isName(e.Name) && (isName(e.Provider) || e.Provider == "" && !needsProvider)
		switch {
		case named && known[e.Name]:
		case !named || len(l.Entries) == maxProviders || kept+size > maxBytes:
			l.Truncated = true
		default:
			known[e.Name], kept = true, kept+size
			l.Entries = append(l.Entries, Entry{Provider: strings.Clone(e.Provider), Name: strings.Clone(e.Name)})
		}
	}
	slices.SortFunc(l.Entries, func(a, b Entry) int {
		return cmp.Or(strings.Compare(a.Provider, b.Provider), strings.Compare(a.Name, b.Name))
	})
	return l
}

// isName reports whether the text is printable and short enough for a status.
func isName(text string) bool {
	return text != "" && len(text) <= maxName && !strings.ContainsFunc(text, func(r rune) bool {
		return !unicode.IsPrint(r)
	})
}

// decode decodes JSON within the limits of size and nesting.
func decode(body []byte, into any) error {
	limitsValue := limits.Limits{Bytes: maxBody, Levels: limits.DocumentLevels, Nodes: limits.DocumentNodes}
	if _, excess := limits.Scan(body, limitsValue); excess != nil || json.Unmarshal(body, into) != nil {
		return errNotJSON
	}
	return nil
}
