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

// Override is what the operator has to know of a config.yaml that the user gives whole. The file itself is never
// changed, and a copy only by WithWorkers.
type Override struct {
	// Version is the schema version that the file names; 0 where it names none that is a number.
	Version int32
	// TLS is what the file says about encryption.
	TLS TLS
	// Auth is what the file says about who may call the server.
	Auth Auth
	// Insecure reports that the file lets the server start without TLS.
	Insecure bool
	// Storage reports that the file says where the server keeps its state.
	Storage bool
	// Workers is the number of processes that the file asks for, as it is written; empty where it does not say.
	Workers string
}

// ReadOverride reads a config.yaml of the user's own. The error reports why the server could not read it.
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

// WithWorkers returns a config.yaml of the user's own with another number of processes, below a header, which is a
// comment. Of the rest, only the notation changes. The line is that of the server; nil where it is not known. The error
// reports why the server could not read it.
func WithWorkers(ctx context.Context, data []byte, line *catalog.Line, workers int32, header string) ([]byte, error) {
	base, err := document.ParseBase("", data)
	if err != nil {
		return nil, err
	}
	doc := base.Edit()
	server.SetWorkers(doc, line, workers)
	return doc.Write(ctx, header)
}

// Excluded returns the paths of the fields that the spec sets although spec.overrideConfig, which it sets too, excludes
// them.
func Excluded(s *v1alpha2.LlamaStackDistributionSpec) []string {
	if s.OverrideConfig == nil {
		return nil
	}
	var paths []string
	for _, field := range []struct {
		path string
		set  bool
	}{
		{"spec.providers", s.Providers != nil && *s.Providers != v1alpha2.ProvidersSpec{}},
		{"spec.resources", hasResources(s.Resources)},
		{"spec.storage", hasStorage(s.Storage)},
		{"spec.disabled", len(s.Disabled) > 0},
		{"spec.auth", hasAuth(s.Auth)},
		{"spec.externalProviders", jsonFilled(s.ExternalProviders)},
	} {
		if field.set {
			paths = append(paths, field.path)
		}
	}
	return paths
}
