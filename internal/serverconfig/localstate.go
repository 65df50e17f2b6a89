// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

// LocalState is the state on the disk of the pod, or in the memory of the server.
type LocalState struct {
	// Backends are the storage backends in files, sorted.
	Backends []string
	// Providers are the inline providers of files and vector stores, sorted.
	Providers []ProviderName
	// DefaultVectors is the provider of vector stores that name none; empty if the configuration does not say.
	DefaultVectors string
}

// Names returns the parts of the state for a message.
func (s *LocalState) Names() []string {
	names := make([]string, 0, len(s.Providers)+len(s.Backends))
	for _, p := range s.Providers {
		names = append(names, "provider "+p.API+"/"+p.ID)
	}
	for _, backend := range s.Backends {
		names = append(names, "storage backend "+backend)
	}
	return names
}

// LocalStateOf returns the local state of a base that runs unchanged.
func LocalStateOf(base *Base) LocalState { return localState(base.Edit(), nil) }

// localState finds file backends, and inline providers of files and vector stores. given are the variables known to be
// set.
func localState(doc *document.Document, given document.Variables) LocalState {
	var state LocalState
	for name, backend := range document.Members(doc.Backends()) {
		if strings.HasSuffix(document.Text(document.Child(backend, "type")), "_sqlite") {
			state.Backends = append(state.Backends, name)
		}
	}
	state.DefaultVectors = document.IdentityOf(document.Child(doc.Section("vector_stores"), "default_provider_id")).ID
	enabled := doc.EnabledProviders(given)
	for entry := range doc.Providers() {
		name := document.ProviderName{API: entry.API, ID: entry.Identity().ID}
		if (entry.API == "files" || entry.API == "vector_io") && strings.HasPrefix(entry.Type(), "inline::") &&
			slices.Contains(enabled, name) {
			state.Providers = append(state.Providers, name)
		}
	}
	slices.Sort(state.Backends)
	slices.SortFunc(state.Providers, func(a, b ProviderName) int {
		return cmp.Or(strings.Compare(a.API, b.API), strings.Compare(a.ID, b.ID))
	})
	return state
}

// StateFile is a file or directory to which a configuration says that the server writes state.
type StateFile struct {
	// Path is the field of the configuration, and Name the file as written there, with its environment references.
	Path, Name string
}

// stateFields are fields that hold a file or directory of state, in providers of any type and in all sections.
var stateFields = []string{"db_path", "storage_dir"}

// StateFiles returns the files and directories of state in a configuration, in its order. It skips disabled providers.
// given are the variables known to be set; line may be nil.
func StateFiles(data []byte, line *catalog.Line, given document.Variables) ([]StateFile, error) {
	base, err := document.ParseBase("", data)
	if err != nil {
		return nil, err
	}
	return stateFiles(base.Edit(), line, given), nil
}

func stateFiles(doc *document.Document, line *catalog.Line, given document.Variables) []StateFile {
	enabled := doc.EnabledProviders(given)
	var files []StateFile
	index := map[string]int{}
	for entry := range doc.Providers() {
		at := fmt.Sprintf("providers.%s[%d].config", entry.API, index[entry.API])
		index[entry.API]++
		if !slices.Contains(enabled, document.ProviderName{API: entry.API, ID: entry.Identity().ID}) {
			continue
		}
		fields := stateFields
		if line != nil {
			if row, ok := line.Provider(entry.API, entry.Type()); ok && row.DataPath != "" {
				fields = append(slices.Clone(stateFields), row.DataPath)
			}
		}
		files = appendStateFiles(files, at, fields, entry.Config())
	}
	for name, section := range document.Members(doc.Root()) {
		if name != "providers" {
			files = appendStateFiles(files, name, stateFields, section)
		}
	}
	return files
}

func appendStateFiles(files []StateFile, path string, fields []string, n *yaml.Node) []StateFile {
	for name, value := range document.Members(n) {
		at := path + "." + name
		if text := document.Text(value); text != "" && slices.Contains(fields, name) {
			files = append(files, StateFile{at, text})
		}
		files = appendStateFiles(files, at, fields, value)
	}
	return files
}
