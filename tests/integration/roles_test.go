// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"flag"
	"maps"
	"os"
	"sync"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

const operatorUser = "system:serviceaccount:" + operatorNamespace + ":" + operatorServiceAccount

// usedOtherwise are the permissions of dist/install.yaml that no request of the integration tests shows, with the reason.
var usedOtherwise = map[string]string{
	"manager-role: llamastack.io llamastackdistributions/finalizers update": "no request has this verb: the admission plugin " +
		"OwnerReferencesPermissionEnforcement, which OpenShift turns on, checks it where an object gets an owner that blocks deletion",
	"manager-role: route.openshift.io routes/custom-host create": "no request has this resource: OpenShift checks it where a Route gets a host name",
	"manager-role: route.openshift.io routes/custom-host update": "no request has this resource: OpenShift checks it where the host name of a Route changes",
}

// usedByUpgrades are the permissions that only requests of an upgrade show, with the reason.
var usedByUpgrades = map[string]string{
	"manager-role: apiextensions.k8s.io customresourcedefinitions/status patch llamastackdistributions.llamastack.io": "migration of storage",
	"manager-role: llamastack.io llamastackdistributions patch":                                                       "migration of storage",
	"manager-role: rbac.authorization.k8s.io clusterrolebindings delete llama-stack-k8s-operator-proxy-rolebinding":   "leftovers of release 0.9",
}

// upgradesVariable has the pattern of the tests that "make test-upgrade" runs and "make test-integration" leaves out.
const upgradesVariable = "LLSD_UPGRADE_TESTS"

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
// Only after all tests is it known whether everything in the roles is used: those without the upgrades, and the upgrades, know it together.
//
// Proves: L-19.
func rolesFitTheRequests() error {
	roles, err := fixture.ReadRoles()
	if err != nil {
		return err
	}
	if err := keepRequests(cluster); err != nil {
		return err
	}
	roles.Note(requests.all)
	run, skip, upgrades := flag.Lookup("test.run").Value.String(), flag.Lookup("test.skip").Value.String(), os.Getenv(upgradesVariable)
	listed := maps.Clone(usedOtherwise)
	switch {
	case run == "" && skip == "":
	case run == "" && skip == upgrades:
		maps.Copy(listed, usedByUpgrades)
	case run == upgrades && skip == "":
		return errors.Join(roles.Lacking(), roles.Uses(usedByUpgrades))
	default:
		return roles.Lacking()
	}
	return errors.Join(roles.Lacking(), roles.Unused(listed))
}
