// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// OtherUserAgent is the user agent of tests that use the operator's permissions. Roles ignores their requests.
const OtherUserAgent = "not-the-operator"

// permission is a verb for a resource that the operator's ServiceAccount has.
type permission struct {
	role                           string
	namespace                      string // empty: all namespaces
	group, resource, verb, objects string // objects: the name of the only object; empty means all
}

func (p permission) String() string {
	text := fmt.Sprintf("%s: %s %s %s", p.role, p.group, p.resource, p.verb)
	if p.group == "" {
		text = fmt.Sprintf("%s: %s %s", p.role, p.resource, p.verb)
	}
	if p.objects != "" {
		text += " " + p.objects
	}
	return text
}

// allows reports whether the permission allows the request. An apply that creates needs patch and create, and a
// streaming list counts as list and watch, because older API servers need both.
func (p permission) allows(r *Request) bool {
	created := r.Verb == "patch" && r.Status == http.StatusCreated
	listing := r.Verb == "watch" && strings.Contains(r.Path, "sendInitialEvents=true")
	return p.group == r.Group && p.resource == r.Resource && (p.verb == r.Verb || p.verb == "create" && created || p.verb == "list" && listing) &&
		(p.namespace == "" || p.namespace == r.Namespace) && (p.objects == "" || p.objects == r.Name)
}

// grantedPermissions returns the operator's permissions from the released manifest.
func grantedPermissions() ([]permission, error) {
	text, err := os.ReadFile(filepath.Join(Root(), "dist", "install.yaml"))
	if err != nil {
		return nil, err
	}
	roles := map[string]rbacv1.ClusterRole{} // a Role has the same rules
	var bindings []rbacv1.ClusterRoleBinding
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		var binding rbacv1.ClusterRoleBinding
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			return nil, err
		}
		switch role.Kind {
		case "Role", "ClusterRole":
			roles[role.Kind+"/"+role.Name] = role
		case "RoleBinding", "ClusterRoleBinding":
			if err := yaml.Unmarshal([]byte(document), &binding); err != nil {
				return nil, err
			}
			bindings = append(bindings, binding)
		}
	}
	var granted []permission
	for _, b := range bindings {
		isOperator := func(s rbacv1.Subject) bool {
			return s.Name == OperatorName && s.Namespace == OperatorNamespace
		}
		if !slices.ContainsFunc(b.Subjects, isOperator) {
			continue
		}
		role, ok := roles[b.RoleRef.Kind+"/"+b.RoleRef.Name]
		if !ok {
			return nil, fmt.Errorf("%s %s: the manifest has no %s %s", b.Kind, b.Name, b.RoleRef.Kind, b.RoleRef.Name)
		}
		name := strings.TrimPrefix(role.Name, "llama-stack-k8s-operator-")
		for _, rule := range role.Rules {
			granted = append(granted, permissionsOf(name, b.Namespace, rule)...)
		}
	}
	return granted, nil
}

func permissionsOf(role, namespace string, rule rbacv1.PolicyRule) []permission {
	var list []permission
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range names {
					list = append(list, permission{role, namespace, group, resource, verb, name})
				}
			}
		}
	}
	return list
}

// Roles compares the operator's requests with the roles of dist/install.yaml.
type Roles struct {
	granted []permission
	used    map[permission]bool
	lacking map[string]bool
}

// ReadRoles reads the operator's permissions from the manifest.
func ReadRoles() (*Roles, error) {
	granted, err := grantedPermissions()
	return &Roles{granted: granted, used: map[permission]bool{}, lacking: map[string]bool{}}, err
}

// Note records the operator's requests.
func (r *Roles) Note(requests []Request) {
	for i := range requests {
		asked := &requests[i]
		if asked.User != OperatorUser || asked.UserAgent == OtherUserAgent || asked.Resource == "" ||
			asked.Resource == "selfsubjectreviews" { // system:basic-user allows them to everyone
			continue
		}
		allowed := false
		for _, p := range r.granted {
			if p.allows(asked) {
				r.used[p], allowed = true, true
			}
		}
		if !allowed {
			r.lacking[strings.TrimSpace(fmt.Sprintf("%s %s %s %s", asked.Group, asked.Resource, asked.Verb, asked.Name))] = true
		}
	}
}

// Used returns the number of used permissions.
func (r *Roles) Used() int { return len(r.used) }

// Missing returns an error that names the requests that the roles do not allow, or an error if there was no request.
func (r *Roles) Missing() error {
	if len(r.used) == 0 {
		return errors.New("the audit log has no request of the operator: this shows nothing")
	}
	var errs []error
	for _, request := range slices.Sorted(maps.Keys(r.lacking)) {
		errs = append(errs, fmt.Errorf("the roles of dist/install.yaml lack: %s", request))
	}
	return errors.Join(errs...)
}

// RequireUsed returns an error that names the listed permissions that no request used.
func (r *Roles) RequireUsed(listed map[string]string) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		used := false
		for p := range r.used {
			used = used || p.String() == name
		}
		if !used {
			errs = append(errs, fmt.Errorf("the roles of dist/install.yaml: nobody uses %s, which is listed as used here", name))
		}
	}
	return errors.Join(errs...)
}

// Unused returns an error that names the permissions that no request used and that are not listed with a reason, and
// the wrongly listed ones.
func (r *Roles) Unused(listed map[string]string) error {
	var errs []error
	for name := range listed {
		if !slices.ContainsFunc(r.granted, func(p permission) bool { return p.String() == name }) {
			errs = append(errs, fmt.Errorf("the roles of dist/install.yaml do not have what is listed as unused: %s", name))
		}
	}
	for _, p := range r.granted {
		if reason := listed[p.String()]; r.used[p] == (reason != "") {
			state := "nobody uses"
			if r.used[p] {
				state = "listed as unused, but used:"
			}
			errs = append(errs, fmt.Errorf("the roles of dist/install.yaml: %s %s", state, p))
		}
	}
	return errors.Join(errs...)
}
