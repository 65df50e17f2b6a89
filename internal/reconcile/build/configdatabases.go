// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/dsn"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// pathVariables is the field that chooses the databases of a base.
const pathVariables = objects.PathOverrides + ".env"

// connection is a backend of a configuration in PostgreSQL or Redis, with its variables replaced.
type connection struct{ system, host, port, database, user string }

// configConnections returns the backends of the user's own configuration, or those of a base that the spec leaves as
// they are, and the field that chooses them. Backends with a value that the operator does not know are missing.
func (in *Inputs) configConnections() (path string, found []connection) {
	d := in.distribution()
	if d == nil || d.Line == nil {
		return "", nil
	}
	path, base := in.configOfStorage(d)
	if base == nil {
		return path, nil
	}
	for _, backend := range document.Members(document.Child(document.Child(base.Root(), "storage"), "backends")) {
		kind, _ := in.expand(document.Text(document.Child(backend, "type")))
		if path == pathVariables && in.setsBackend(kind) {
			continue
		}
		if c, ok := in.connectionOf(backend, kind, d.Line.Backends[kind].Fields); ok {
			found = append(found, c)
		}
	}
	return path, found
}

// configOfStorage returns the configuration with the backends that the spec does not name, or nil, and its field.
func (in *Inputs) configOfStorage(d *settings.Distribution) (path string, base *serverconfig.Base) {
	switch o := in.Override; {
	case in.CR.Spec.OverrideConfig != nil:
		if o != nil && o.State == Found {
			base, _ = serverconfig.ParseBase("", o.Content) // the override reports the error
		}
		return PathOverride, base
	case in.CR.Spec.Storage == nil || in.CR.Spec.Storage.Backends == nil:
		return pathVariables, d.Base
	}
	return "", nil
}

// connectionOf returns the connection of a backend; false if it has none, or one that the operator does not know.
func (in *Inputs) connectionOf(backend *yaml.Node, kind string, fields map[string]catalog.Field) (connection, bool) {
	_, system, _ := strings.Cut(kind, "_") // of kv_postgres, sql_postgres or kv_redis
	c, isKnown := connection{system: system}, system == systemPostgres || system == systemRedis
	value := func(key string) string {
		n := document.Child(backend, key)
		if n == nil && fields[key].Default != nil {
			return fmt.Sprint(fields[key].Default)
		}
		text, ok := in.expand(document.Text(n))
		isKnown = isKnown && ok
		return text
	}
	c.host, c.port = value("host"), value("port")
	if c.system != systemPostgres {
		return c, isKnown
	}
	c.database, c.user = value("db"), value("user")
	if text := value("connection_string"); text != "" {
		parsed, err := dsn.Parse(text)
		if err != nil {
			return c, false
		}
		c.host, c.port, c.database, c.user = parsed.Host, strconv.Itoa(parsed.Port), parsed.Database, parsed.User
	}
	return c, isKnown
}

// setsBackend reports whether the spec replaces a base's backend of a type.
func (in *Inputs) setsBackend(kind string) bool {
	s := in.CR.Spec.Storage
	return s != nil && (s.KV != nil && strings.HasPrefix(kind, "kv_") || s.SQL != nil && strings.HasPrefix(kind, "sql_"))
}

// expand replaces references to variables as the server does. It reports whether all values are known; a variable
// without a value in the spec has its default.
func (in *Inputs) expand(text string) (value string, isKnown bool) {
	isKnown = true
	value = document.ReplaceReferences(text, func(r document.Reference) string {
		given, isSet, ok := in.variableValue(r.Name)
		isKnown = isKnown && ok
		switch {
		case r.Operator == document.IfSet && (!isSet || given == ""):
			return ""
		case r.Operator == document.IfSet:
			return r.Value
		case isSet && given != "":
			return given
		}
		isKnown = isKnown && r.Operator == document.OrElse
		return r.Value
	})
	return value, isKnown
}

// variableValue returns the value of a variable of the server's container; the operator does not know values of
// ConfigMaps, of the pod, and of variables in variables.
func (in *Inputs) variableValue(name string) (value string, isSet, isKnown bool) {
	env := in.userVariables()
	if _, at := variable(env, name); at >= 0 {
		v := &env[at]
		if v.ValueFrom == nil {
			return v.Value, true, !strings.Contains(v.Value, "$(")
		}
		if s := v.ValueFrom.SecretKeyRef; s != nil {
			return in.podSecret(s.Name, s.Key)
		}
		return "", true, false
	}
	if w := in.CR.Spec.Workload; w != nil && w.Overrides != nil {
		for i := range slices.Backward(w.Overrides.EnvFrom) {
			from := &w.Overrides.EnvFrom[i]
			key, ok := strings.CutPrefix(name, from.Prefix)
			if !ok {
				continue
			}
			if from.ConfigMapRef != nil {
				return "", false, false
			}
			if s := from.SecretRef; s != nil {
				if value, isSet, isKnown = in.podSecret(s.Name, key); isSet {
					return value, isSet, isKnown
				}
			}
		}
	}
	return "", false, true
}

// podSecret returns the value of a key of a Secret that the pods refer to.
func (in *Inputs) podSecret(name, key string) (value string, isSet, isKnown bool) {
	for i := range in.PodReferences {
		f := &in.PodReferences[i]
		if f.Ref.Kind != objects.KindSecret || f.Ref.Name != name {
			continue
		}
		if at := slices.Index(f.Keys, key); at >= 0 {
			return string(f.Values[at].Reveal()), true, true
		}
	}
	return "", false, true
}
