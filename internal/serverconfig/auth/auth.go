// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"go.yaml.in/yaml/v3"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

const (
	root         = "spec.auth"
	pathProvider = root + ".provider"
	pathSettings = root + ".settings"
	pathTenancy  = root + ".tenancy"
)

// Sections of the configuration, below server.
const (
	sectionAuth    = "auth"
	sectionTenancy = "tenancy"
	keyProvider    = "provider_config"
	keyAccess      = "access_policy"
	keyRoutes      = "route_policy"
	keyType        = "type"
)

// The paths of the Kubernetes API server's CA certificates in the container, as in the catalog. Pods have no token.
const (
	ClusterCADir  = "/etc/llama-stack-cluster"
	ClusterCAFile = ClusterCADir + "/ca.crt"
)

// Auth describes the authentication and authorization in a configuration.
type Auth struct {
	// Type is the type of authentication; empty if everyone may call the server.
	Type string
	// ClusterCA reports whether the server verifies the Kubernetes API server with ClusterCAFile.
	ClusterCA bool
	// SeparatesUsers reports whether users have different rights, by access rules or tenants.
	SeparatesUsers bool
	// Misplaced reports that only the top level has authentication, where no server reads it.
	Misplaced bool
}

// Read reads the section server of a configuration.
func Read(root *yaml.Node) Auth {
	config := document.Descend(root, []string{"server", sectionAuth, keyProvider})
	rules := document.Descend(root, []string{"server", sectionAuth, keyAccess})
	tenancy := document.Text(document.Descend(root, []string{"server", sectionTenancy, "mode"}))
	kind := document.Given(document.Child(config, keyType))
	return Auth{
		Type:           kind,
		Misplaced:      kind == "" && document.Child(root, sectionAuth) != nil,
		ClusterCA:      document.Text(document.Child(config, fieldCAFile)) == ClusterCAFile,
		SeparatesUsers: rules != nil && len(rules.Content) > 0 || tenancy == tenancyMulti,
	}
}

type step struct {
	line     *catalog.Line
	spec     *parse.Auth
	server   *yaml.Node
	problems *problem.Collector
	// row is the type in the spec, or nil.
	row *catalog.AuthType
	// settings are the fields of the type, with environment references for secrets.
	settings map[string]any
}

// Apply writes spec.auth to the configuration, and adds the environment variables of its Secrets to env.
func Apply(doc *document.Document, line *catalog.Line, spec *parse.Auth, env *environment.Set,
	problems *problem.Collector) {
	if spec == nil {
		return
	}
	s := &step{line: line, spec: spec, server: document.Ensure(doc.Root(), "server", yaml.MappingNode), problems: problems}
	if line.AuthFields() == nil {
		problems.Add(unsupported(root, nil, "a server of release line "+line.Name+" has no authentication",
			func(l *catalog.Line) bool { return l.AuthFields() != nil }))
		return
	}
	s.resolveProvider(env)
	(&policies{s}).check()
	s.applyTenancy()
	if problems.HasErrors() {
		return
	}
	s.write()
}

// write replaces each part of the base that the spec sets.
func (s *step) write() {
	if s.row == nil && len(s.spec.AccessPolicy)+len(s.spec.RoutePolicy) == 0 {
		return
	}
	auth := document.Ensure(s.server, sectionAuth, yaml.MappingNode)
	if s.row != nil {
		config := &yaml.Node{Kind: yaml.MappingNode}
		document.Set(config, keyType, document.String(s.row.Type))
		document.Merge(config, s.settings)
		document.Set(auth, keyProvider, config)
	}
	for _, policy := range []struct {
		key   string
		rules []parse.Rule
	}{{keyRoutes, s.spec.RoutePolicy}, {keyAccess, s.spec.AccessPolicy}} {
		if len(policy.rules) == 0 {
			continue
		}
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, rule := range policy.rules {
			list.Content = append(list.Content, document.Value(rule.Fields))
		}
		document.Set(auth, policy.key, list)
	}
	keepProbesOpen(auth)
}

func (s *step) baseProvider() *yaml.Node {
	return document.Child(document.Child(s.server, sectionAuth), keyProvider)
}
