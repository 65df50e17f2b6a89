// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
)

// A storage location is where a provider keeps its state: a namespace or a table of a storage backend, or a file. No
// two providers may share one. An entry that lies over the base's entry with its id keeps that one's locations, because
// its data is there; every other entry gets locations named after its API and id alone, so that no edit elsewhere ever
// moves them. Bases do not use names of this form.

const (
	// fallbackDataPath is the field of the file of a provider type that the release line does not know.
	fallbackDataPath = "db_path"
	// dataFileExtension is the one that a type of ours insists on, and suits the others.
	dataFileExtension = ".db"
	// maxTableName is the longest name of a table, in bytes: PostgreSQL's limit.
	maxTableName = 63
)

// locations names the storage locations of one entry.
type locations struct {
	schema
	// id is the provider_id.
	id string
}

// separate gives an entry that was copied from another one storage locations of its own.
func (l locations) separate(config *yaml.Node) {
	l.separateStores(config, nil)
	field := fallbackDataPath
	if l.row != nil {
		field = l.row.DataPath
	}
	if file := document.Text(document.Child(config, field)); file != "" {
		extension := cmp.Or(path.Ext(document.MaskReferences(file)), dataFileExtension)
		document.Set(config, field, document.String(l.dataFile(directory(file), extension)))
	}
}

func (l locations) separateStores(n *yaml.Node, steps []string) {
	for _, kind := range []catalog.StoreKind{catalog.KV, catalog.SQL} {
		if document.Child(n, "backend") != nil && document.Child(n, kind.Place()) != nil {
			document.Set(n, kind.Place(), document.String(l.name(kind, steps)))
		}
	}
	for _, item := range document.Items(n) {
		l.separateStores(item, steps)
	}
	for key, value := range document.Members(n) {
		l.separateStores(value, append(slices.Clip(steps), key))
	}
}

// fillRequired writes what the server demands, the entry does not have and the spec has no name for: stores, the file
// of the provider's data, and null where that will do.
func (l locations) fillRequired(config, base, root *yaml.Node) {
	if l.row == nil {
		return
	}
	for _, kind := range []catalog.StoreKind{catalog.KV, catalog.SQL} {
		for _, name := range l.row.StoreFields(kind) {
			if document.Child(config, name) != nil {
				continue
			}
			store := &yaml.Node{Kind: yaml.MappingNode}
			document.Set(store, "backend", document.String(storage.DefaultBackend(document.Child(document.Child(root,
				"storage"), "backends"), kind)))
			document.Set(store, kind.Place(), document.String(l.name(kind, []string{name})))
			document.Set(config, name, store)
		}
	}
	if name := l.row.DataPath; name != "" && l.row.Fields[name].Required && document.Child(config, name) == nil {
		document.Set(config, name, document.String(l.dataFile(baseDirectory(base), dataFileExtension)))
	}
	for _, name := range l.row.FieldNames() {
		field := l.row.Fields[name]
		if _, there := document.IndexOf(config, name); field.Required && field.Nullable && !there {
			document.Set(config, name, document.Value(nil))
		}
	}
}

// name names a namespace or a table for the field of the config that the steps lead to.
func (l locations) name(kind catalog.StoreKind, steps []string) string {
	name := strings.Join(append([]string{l.api, l.id}, steps...), "::")
	if kind == catalog.SQL {
		return tableName(name, l.id)
	}
	return name
}

var plainID = regexp.MustCompile(`^[a-z0-9]+$`)

// tableName folds a name to what every database takes unquoted. What folding or cutting would make alike stays apart by
// a hash.
func tableName(name, id string) string {
	if plain := strings.ReplaceAll(name, "::", "_"); plainID.MatchString(id) && len(plain) <= maxTableName {
		return plain
	}
	sum := sha256.Sum256([]byte(name))
	suffix := "_" + hex.EncodeToString(sum[:4])
	folded := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
			return r
		}
		return '_'
	}, strings.ToLower(strings.ReplaceAll(name, "::", "_")))
	return folded[:min(len(folded), maxTableName-len(suffix))] + suffix
}

func (l locations) dataFile(dir, extension string) string {
	return dir + "/" + l.api + "_" + l.id + extension
}

// directory returns what stands before the last slash that is not within a reference to the environment.
func directory(file string) string {
	if at := strings.LastIndex(document.MaskReferences(file), "/"); at > 0 {
		return file[:at]
	}
	return storage.DataDir
}

// baseDirectory is where the base keeps the files of its storage backends.
func baseDirectory(base *yaml.Node) string {
	backends := document.Child(document.Child(base, "storage"), "backends")
	for _, name := range document.Keys(backends) {
		if file := document.Text(document.Child(document.Child(backends, name), "db_path")); file != "" {
			return directory(file)
		}
	}
	return storage.DataDir
}
