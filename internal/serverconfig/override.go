// SPDX-License-Identifier: Apache-2.0

package serverconfig

import (
	"context"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/auth"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/server"
)

// Override describes a complete config.yaml of the user.
type Override struct {
	// Version is the schema version, or 0 if it is absent or unknown.
	Version int32
	TLS     TLS
	Auth    Auth
	// Insecure means that server.insecure is true.
	Insecure bool
	// Storage means that the file has a section storage.
	Storage bool
	// Workers is the number of workers as text, or "".
	Workers string
}

// ReadOverride parses a config.yaml of the user. It fails if the server could not read the file.
func ReadOverride(data []byte) (*Override, error) {
	root, err := document.Read(data)
	if err != nil {
		return nil, err
	}
	o := &Override{}
	switch document.Text(document.Child(root, "version")) {
	case "1":
		o.Version = release.PreviousVersion
	case "2":
		o.Version = release.CurrentVersion
	}
	o.TLS, o.Auth = server.ReadTLS(root), auth.Read(root)
	o.Storage = document.Child(root, "storage") != nil
	section := document.Child(root, "server")
	o.Workers = document.Given(document.Child(section, "workers"))
	o.Insecure = strings.EqualFold(document.Text(document.Child(section, "insecure")), "true")
	return o, nil
}

// WithWorkers returns a config.yaml of the user with another number of workers below a header comment; the rest only
// changes its notation. A nil release line is unknown.
func WithWorkers(ctx context.Context, data []byte, line *catalog.Line, workers int32, header string) ([]byte, error) {
	base, err := document.ParseBase("", data)
	if err != nil {
		return nil, err
	}
	doc := base.Edit()
	server.SetWorkers(doc, line, workers)
	return doc.Write(ctx, header)
}

// Excluded returns the paths of set fields that spec.overrideConfig excludes.
func Excluded(s *v1alpha2.LlamaStackDistributionSpec) []string {
	if s.OverrideConfig == nil {
		return nil
	}
	var paths []string
	for _, field := range []struct {
		path string
		set  bool
	}{
		{"spec.providers", s.Providers != nil && len(s.Providers.Names()) > 0},
		{"spec.resources", hasResources(s.Resources)},
		{"spec.storage", hasStorage(s.Storage)},
		{"spec.disabled", len(s.Disabled) > 0},
		{"spec.auth", hasAuth(s.Auth)},
	} {
		if field.set {
			paths = append(paths, field.path)
		}
	}
	return paths
}
