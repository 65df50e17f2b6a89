// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
)

// A storage location is a namespace or table of a backend, or a file, and belongs to one provider. An entry keeps the
// locations of the base's entry with its id; otherwise its locations derive only from API and id, so that other edits
// do not move them.

const (
	// fallbackDataPath is the data file field of an unknown provider type.
	fallbackDataPath = "db_path"
	// dataFileExtension is the file extension that one provider type requires, and others accept.
	dataFileExtension = ".db"
	// maxTableName is PostgreSQL's limit in bytes.
	maxTableName = 63
)

// locations generates the storage locations of an entry.
type locations struct {
	schema
	id string
}

// separate gives a copied entry its own storage locations.
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
		if document.Child(n, "backend") != nil && document.Child(n, kind.LocationField()) != nil {
			document.Set(n, kind.LocationField(), document.String(l.name(kind, steps)))
		}
	}
	for _, item := range document.Items(n) {
		l.separateStores(item, steps)
	}
	for key, value := range document.Members(n) {
		l.separateStores(value, append(slices.Clip(steps), key))
	}
}

// fillRequired sets required fields that the spec has no field for: stores, the data file, and null.
func (l locations) fillRequired(config, base, root *yaml.Node) {
	if l.row == nil {
		return
	}
	l.fillStores(config, l.row.Fields, nil, document.Child(document.Child(root, "storage"), "backends"))
	if name := l.row.DataPath; name != "" && l.row.Fields[name].Required && document.Child(config, name) == nil {
		document.Set(config, name, document.String(l.dataFile(baseDirectory(base), dataFileExtension)))
	}
	for _, name := range l.row.FieldNames() {
		field := l.row.Fields[name]
		if _, exists := document.IndexOf(config, name); field.Required && field.Nullable && !exists {
			document.Set(config, name, document.Value(nil))
		}
	}
}

// fillStores sets the required stores among the fields of a map, and in its required maps.
func (l locations) fillStores(config *yaml.Node, fields map[string]catalog.Field, steps []string,
	backends *yaml.Node) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, at := fields[name], append(slices.Clip(steps), name)
		existing := document.Child(config, name)
		switch {
		case !field.Required || field.AliasOf != "":
		case field.Store != "" && existing == nil:
			store := &yaml.Node{Kind: yaml.MappingNode}
			document.Set(store, "backend", document.String(storage.DefaultBackend(backends, field.Store)))
			document.Set(store, field.Store.LocationField(), document.String(l.name(field.Store, at)))
			document.Set(config, name, store)
		case field.Store == "" && field.Object != "" && field.Type == catalog.TypeMap:
			inner := existing
			switch {
			case inner == nil:
				inner = &yaml.Node{Kind: yaml.MappingNode}
			case inner.Kind != yaml.MappingNode:
				continue // the check of the settings reports it
			}
			l.fillStores(inner, l.inner(field), at, backends)
			if existing == nil && len(inner.Content) > 0 {
				document.Set(config, name, inner)
			}
		}
	}
}

// name returns the namespace or table for the config field at the steps.
func (l locations) name(kind catalog.StoreKind, steps []string) string {
	name := strings.Join(append([]string{l.api, l.id}, steps...), "::")
	if kind == catalog.SQL {
		return tableName(name, l.id)
	}
	return name
}

var plainID = regexp.MustCompile(`^[a-z0-9]+$`)

// tableName folds a name to one that every database accepts unquoted. A hash keeps folded or shortened names unique.
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

// directory returns the path before the last slash outside of an environment reference.
func directory(file string) string {
	if at := strings.LastIndex(document.MaskReferences(file), "/"); at > 0 {
		return file[:at]
	}
	return storage.DataDir
}

// baseDirectory returns the directory of the base's backend files.
func baseDirectory(base *yaml.Node) string {
	backends := document.Child(document.Child(base, "storage"), "backends")
	for _, name := range document.Keys(backends) {
		if file := document.Text(document.Child(document.Child(backends, name), "db_path")); file != "" {
			return directory(file)
		}
	}
	return storage.DataDir
}
