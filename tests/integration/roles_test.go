// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const operatorUser = "system:serviceaccount:" + operatorNamespace + ":" + operatorServiceAccount

// notTheOperator is the user agent of a test that asks with the operator's permissions for what the operator must not get.
const notTheOperator = "not-the-operator"

// usedOtherwise are the permissions of dist/install.yaml that no request of the integration tests shows, with the reason.
var usedOtherwise = map[string]string{
	"manager-role: llamastack.io llamastackdistributions/finalizers update": "no request has this verb: the admission plugin " +
		"OwnerReferencesPermissionEnforcement, which OpenShift turns on, checks it where an object gets an owner that blocks deletion",
}

// permission is one verb for one resource, which the operator's ServiceAccount has.
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

// allows reports whether the permission allows the request. An apply that creates an object needs the verbs patch and create. A watch that
// also sends what exists is a list and a watch on API servers that do not know it.
func (p permission) allows(r *fixture.Request) bool {
	created := r.Verb == "patch" && r.Status == http.StatusCreated
	listing := r.Verb == "watch" && strings.Contains(r.Path, "sendInitialEvents=true")
	return p.group == r.Group && p.resource == r.Resource && (p.verb == r.Verb || p.verb == "create" && created || p.verb == "list" && listing) &&
		(p.namespace == "" || p.namespace == r.Namespace) && (p.objects == "" || p.objects == r.Name)
}

// grantedPermissions are the operator's, from the released manifest.
func grantedPermissions() ([]permission, error) {
	text, err := os.ReadFile(filepath.Join(fixture.Root(), "dist", "install.yaml"))
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
			return s.Name == operatorServiceAccount && s.Namespace == operatorNamespace
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

// requests are those that ServiceAccounts made to the clusters of these tests, but for the ones of the shared cluster.
var requests struct {
	mu  sync.Mutex
	all []fixture.Request
}

// keepRequests keeps the requests to a cluster that is about to be removed.
func keepRequests(c *fixture.Cluster) error {
	made, err := c.Requests()
	requests.mu.Lock()
	defer requests.mu.Unlock()
	requests.all = append(requests.all, made...)
	return err
}

// rolesFitTheRequests compares, after all tests, what the operator asked of API servers with what the released manifest lets it do.
// Only after all tests is it known whether everything in the roles is used.
//
// Proves: L-19.
func rolesFitTheRequests() error {
	granted, err := grantedPermissions()
	if err != nil {
		return err
	}
	if err := keepRequests(cluster); err != nil {
		return err
	}
	used, notAllowed := map[permission]bool{}, map[string]bool{}
	for i := range requests.all {
		r := &requests.all[i]
		if r.User != operatorUser || r.UserAgent == notTheOperator || r.Resource == "" {
			continue
		}
		allowed := false
		for _, p := range granted {
			if p.allows(r) {
				used[p], allowed = true, true
			}
		}
		if !allowed {
			notAllowed[strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Group, r.Resource, r.Verb, r.Name))] = true
		}
	}
	if len(used) == 0 {
		return errors.New("the audit log has no request of the operator's: this shows nothing")
	}
	var errs []error
	for _, r := range slices.Sorted(maps.Keys(notAllowed)) {
		errs = append(errs, fmt.Errorf("the roles of dist/install.yaml lack: %s", r))
	}
	if flag.Lookup("test.run").Value.String() != "" || flag.Lookup("test.skip").Value.String() != "" {
		return errors.Join(errs...)
	}
	for listed := range usedOtherwise {
		if !slices.ContainsFunc(granted, func(p permission) bool { return p.String() == listed }) {
			errs = append(errs, fmt.Errorf("the roles of dist/install.yaml do not have what is listed as unused: %s", listed))
		}
	}
	for _, p := range granted {
		if reason := usedOtherwise[p.String()]; used[p] == (reason != "") {
			state := "nobody uses"
			if used[p] {
				state = "listed as unused, but used:"
			}
			errs = append(errs, fmt.Errorf("the roles of dist/install.yaml: %s %s", state, p))
		}
	}
	return errors.Join(errs...)
}
