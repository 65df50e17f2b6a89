// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// The modes of tenancy with requirements.
const (
	tenancySingle = "single"
	tenancyMulti  = "multi"
)

// tenantID matches a tenant after lower-casing, as the server does.
var tenantID = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,127}$`)

// tenancyFields returns the fields of the tenancy, or nil if the release line has no tenancy.
func tenancyFields(line *catalog.Line) map[string]catalog.Field {
	return line.Objects[line.ServerFields()[sectionTenancy].Object]
}

func (s *step) applyTenancy() {
	if len(s.spec.Tenancy) == 0 {
		return
	}
	fields := tenancyFields(s.line)
	if fields == nil {
		s.problems.Add(unsupported(pathTenancy, nil, "a server of release line "+s.line.Name+" does not separate tenants",
			func(line *catalog.Line) bool { return tenancyFields(line) != nil }))
		return
	}
	provider.CheckStrictly(s.line, sectionTenancy, fields, s.spec.Tenancy, pathTenancy, s.problems)
	s.checkTenancy()
	tenancy := &yaml.Node{Kind: yaml.MappingNode}
	document.Merge(tenancy, s.spec.Tenancy)
	document.Set(s.server, sectionTenancy, tenancy)
}

func (s *step) checkTenancy() {
	const keyDefault = "default_tenant_id"
	id, given := s.spec.Tenancy[keyDefault].(string)
	if given && !document.HasReference(id) && !tenantID.MatchString(strings.ToLower(strings.TrimSpace(id))) {
		s.problems.Add(invalid(pathTenancy+"."+keyDefault, "is not a tenant", "use letters, digits, '-' and '_', and begin "+
			"with a letter or digit"))
	}
	switch mode, _ := s.spec.Tenancy["mode"].(string); mode {
	case tenancySingle:
		if id == "" {
			s.problems.Add(problem.Problem{
				Reason: problem.MissingField, Path: pathTenancy + "." + keyDefault, Type: field.ErrorTypeRequired, Detail: "mode " +
					"single puts everything into one tenant",
				Fix: "name it, for example default_tenant_id: main",
			})
		}
	case tenancyMulti:
		s.checkTenantSource()
	}
}

// CheckTenants warns if the server cannot store tenants' data in PostgreSQL. Call it after storage is applied.
func CheckTenants(doc *document.Document, line *catalog.Line, spec *parse.Auth, problems *problem.Collector) {
	if spec == nil || !line.TenantsBreakPostgres {
		return
	}
	mode, _ := spec.Tenancy["mode"].(string)
	backends := document.Descend(doc.Root(), []string{"storage", "backends"})
	inPostgres := slices.ContainsFunc(document.Keys(backends), func(name string) bool {
		return document.Text(document.Child(document.Child(backends, name), "type")) == "sql_postgres"
	})
	if !inPostgres || mode != tenancySingle && mode != tenancyMulti {
		return
	}
	problems.Add(problem.Problem{
		Severity: problem.Warning, Reason: problem.UnsupportedByRelease, Path: pathTenancy, Type: field.ErrorTypeForbidden,
		Detail: "servers of release line " + line.Name + " fail to keep vector stores and responses of tenants in PostgreSQL",
		Fix: "use SQLite for storage.sql" +
			release.OtherLines(func(l *catalog.Line) bool { return tenancyFields(l) != nil && !l.TenantsBreakPostgres }),
	})
}

// checkTenantSource reports mode multi without a source of the tenant: the server would answer 401 or not start.
func (s *step) checkTenantSource() {
	switch {
	case s.row == nil && s.baseHasTenants():
	case s.row == nil:
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: pathProvider, Type: field.ErrorTypeRequired,
			Detail: "mode multi takes the tenant of a request from its authentication",
			Fix:    "name a type that distinguishes tenants: " + strings.Join(s.tenantTypes(), ", "),
		})
	case s.row.Tenant == "":
		s.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: pathTenancy + ".mode", Type: field.ErrorTypeForbidden,
			Detail: fmt.Sprintf("mode multi takes the tenant of a request from its authentication, and %s does not "+
				"distinguish tenants", s.row.Type),
			Fix: "use mode single, or another type: " + strings.Join(s.tenantTypes(), ", "),
		})
	default:
		if _, given := s.settings[s.row.Tenant]; !given {
			s.problems.Add(problem.Problem{
				Reason: problem.MissingField, Path: pathSettings + "." + s.row.Tenant, Type: field.ErrorTypeRequired,
				Detail: "mode multi takes the tenant of a request from there, and answers requests without one with 401",
				Fix:    "write it under settings",
			})
		}
	}
}

func (s *step) tenantTypes() []string {
	var names []string
	for i := range s.line.Auth {
		if s.line.Auth[i].Tenant != "" {
			names = append(names, s.line.Auth[i].Names()[0])
		}
	}
	return names
}

func (s *step) baseHasTenants() bool {
	config := s.baseProvider()
	row, ok := s.line.AuthType(document.Text(document.Child(config, keyType)))
	return ok && row.Tenant != "" && document.Given(document.Child(config, row.Tenant)) != ""
}
