// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// access is the part of a server configuration about access control.
type access struct {
	Server struct {
		Auth struct {
			Provider struct {
				Type string `json:"type"`
			} `json:"provider_config"`
			Resources []accessRule `json:"access_policy"`
			Paths     []accessRule `json:"route_policy"`
		} `json:"auth"`
		Tenancy struct {
			Mode string `json:"mode"`
		} `json:"tenancy"`
	} `json:"server"`
}

// accessRule is a rule of either policy; fields of type any are a string or a list of strings.
type accessRule struct {
	Permit      *accessScope `json:"permit"`
	Forbid      *accessScope `json:"forbid"`
	When        any          `json:"when"`
	Unless      any          `json:"unless"`
	Description string       `json:"description"`
}

type accessScope struct {
	Principal string `json:"principal"`
	Actions   any    `json:"actions"`
	Resource  string `json:"resource"`
	Paths     any    `json:"paths"`
}

func showAccess(out *bytes.Buffer, resources []*offline.Resource, notes io.Writer) error {
	for _, r := range resources {
		text := configuration(r, notes)
		if text == nil || string(text) == secret.OnCluster { // a note says that the ConfigMap was not given
			continue
		}
		a := &access{}
		if err := yaml.Unmarshal(text, a); err != nil {
			return fmt.Errorf("%s: %s: the access rules of the configuration are invalid: %w",
				r.Document.Position(), r.Name(), err)
		}
		a.Server.Auth.Provider.Type = r.Desired.Auth().Type // resolved by the operator: a variable may disable it
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		if err := a.write(out, r.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (a *access) write(out *bytes.Buffer, name string) error {
	auth := &a.Server.Auth
	fmt.Fprintf(out, "%s: %s\n", name, a.callers())
	rows := [][]string{{"RESOURCES", "EFFECT", "ACTIONS", "RESOURCE", "WHO", "DESCRIPTION"}}
	switch {
	case auth.Provider.Type == "":
		rows = append(rows, []string{"-", "permit", "all", "all", "everyone", "without authentication, no rule about " +
			"resources has an effect"})
	case len(auth.Resources) == 0:
		rows = append(rows,
			[]string{"-", "permit", "all", "all", "its owner, and who shares a role, team, project or namespace with the " +
				"owner", "the server's default"},
			[]string{"-", "permit", "all", "unowned resources", "every user", "the server's default"})
	default:
		for i, rule := range auth.Resources {
			effect, scope := rule.scope()
			rows = append(
				rows,
				[]string{strconv.Itoa(i + 1), effect, joinValues(scope.Actions, ", "), cmp.Or(scope.Resource, "all"),
					rule.subjects("every user"), rule.Description},
			)
		}
	}
	if auth.Provider.Type != "" {
		rows = append(rows, []string{"-", "forbid", "all", "all", "everyone else", "no rule matches"})
	}
	if err := table(out, rows); err != nil {
		return err
	}
	rows = [][]string{{"PATHS", "EFFECT", "PATH", "WHO", "DESCRIPTION"}}
	for i, rule := range auth.Paths {
		effect, scope := rule.scope()
		rows = append(rows, []string{strconv.Itoa(i + 1), effect, joinValues(scope.Paths, ", "), rule.subjects("everyone"),
			rule.Description})
	}
	last := []string{"-", "permit", "*", "everyone", "there are no rules about paths"}
	if len(auth.Paths) > 0 {
		last = []string{"-", "forbid", "*", "everyone else", "no rule matches"}
	}
	return table(out, append(rows, last))
}

func (a *access) callers() string {
	kind := a.Server.Auth.Provider.Type
	if kind == "" {
		return "no authentication: everyone who reaches the server may call it"
	}
	text := "authentication " + kind + ": without a user, only /v1/health and /v1/version answer"
	if a.Server.Tenancy.Mode == "multi" {
		text += "; users see nothing of other tenants"
	}
	return text
}

// scope returns the effect and the scope of a rule.
func (r *accessRule) scope() (string, *accessScope) {
	if r.Forbid != nil {
		return "forbid", r.Forbid
	}
	if r.Permit != nil {
		return "permit", r.Permit
	}
	return "invalid", &accessScope{}
}

func (r *accessRule) subjects(all string) string {
	var parts []string
	if _, scope := r.scope(); scope.Principal != "" {
		parts = append(parts, "user "+scope.Principal)
	}
	if r.When != nil {
		parts = append(parts, joinValues(r.When, " and "))
	}
	if r.Unless != nil {
		parts = append(parts, "unless "+joinValues(r.Unless, " and "))
	}
	return cmp.Or(strings.Join(parts, ", "), all)
}

// joinValues returns a string, or the joined strings of a list.
func joinValues(value any, separator string) string {
	list, ok := value.([]any)
	switch {
	case value == nil:
		return "-"
	case !ok:
		return fmt.Sprint(value)
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = fmt.Sprint(item)
	}
	return strings.Join(texts, separator)
}

// table prints rows after an empty line, without trailing blanks.
func table(out *bytes.Buffer, rows [][]string) error {
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		for i := range row { // values must not look like rows
			row[i] = strings.Join(strings.FieldsFunc(row[i], func(r rune) bool {
				return unicode.IsSpace(r) ||
					!unicode.IsGraphic(r)
			}), " ")
		}
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	out.WriteByte('\n')
	for line := range strings.Lines(text.String()) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return nil
}
