// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"flag"
	"maps"
	"strings"
	"sync"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Kind selects what a test package checks about the roles.
type Kind int

// The kinds. Together, their tests use each permission of the roles except usedOtherwise.
const (
	Integration Kind = iota
	Lifecycle
)

// usedOtherwise are the permissions of dist/install.yaml that no test uses, with the reason.
var usedOtherwise = map[string]string{
	"manager-role: llamastack.io llamastackdistributions/finalizers update": "no request has this verb: the admission plugin " +
		"OwnerReferencesPermissionEnforcement, which OpenShift turns on, checks it where an object gets an owner that blocks deletion",
	"manager-role: route.openshift.io routes/custom-host create": "no request has this resource: OpenShift checks it where a Route gets a host name",
	"manager-role: route.openshift.io routes/custom-host update": "no request has this resource: OpenShift checks it where the host name of a Route changes",
}

// usedInLifecycle are the permissions that only the tests of tests/lifecycle use, with the reason.
var usedInLifecycle = expand(map[string]string{
	"leader-election-role: coordination.k8s.io leases create,get,update": "the program itself",
	"leader-election-role: events create":                                "the program itself",
	"manager-role: admissionregistration.k8s.io validatingwebhookconfigurations list,patch,watch llama-stack-k8s-operator-validating-webhook-configuration":                            "certificates of the webhooks",
	"manager-role: apiextensions.k8s.io customresourcedefinitions get,list,patch,watch llamastackdistributions.llamastack.io":                                                          "certificates of the webhooks",
	"manager-role: apiextensions.k8s.io customresourcedefinitions/status patch llamastackdistributions.llamastack.io":                                                                  "migration of storage",
	"manager-role: config.openshift.io apiservers list,watch cluster":                                                                                                                  "the TLS profile of a cluster that has one",
	"manager-role: config.openshift.io imagedigestmirrorsets,imagetagmirrorsets list,watch":                                                                                            "mirrors of a cluster that has them",
	"manager-role: gateway.networking.k8s.io gateways get":                                                                                                                             "Gateways of a cluster that has them",
	"manager-role: gateway.networking.k8s.io httproutes create,delete,get,list,patch,watch":                                                                                            "Gateways of a cluster that has them",
	"manager-role: llamastack.io llamastackdistributions patch":                                                                                                                        "migration of storage",
	"manager-role: operator.openshift.io imagecontentsourcepolicies list,watch":                                                                                                        "mirrors of a cluster that has them",
	"manager-role: rbac.authorization.k8s.io clusterrolebindings delete,get llama-stack-k8s-operator-proxy-rolebinding":                                                                "leftovers of release 0.9",
	"manager-role: rbac.authorization.k8s.io clusterroles get llama-stack-k8s-operator-llsd-editor-role,llama-stack-k8s-operator-llsd-viewer-role,llama-stack-k8s-operator-proxy-role": "leftovers of release 0.9",
	"manager-role: route.openshift.io routes create,delete,get,list,patch,watch":                                                                                                       "Routes of a cluster that has them",
	"metrics-auth-role: authentication.k8s.io tokenreviews create":                                                                                                                     "who may read the metrics",
	"metrics-auth-role: authorization.k8s.io subjectaccessreviews create":                                                                                                              "who may read the metrics",
	"own-namespace-role: secrets list,update,watch llama-stack-operator-webhook-cert":                                                                                                  "certificates of the webhooks",
})

// expand returns a permission for each item of the lists in the keys.
func expand(listed map[string]string) map[string]string {
	all := map[string]string{}
	for permissions, reason := range listed {
		expanded := []string{""}
		for field := range strings.FieldsSeq(permissions) {
			var next []string
			for _, begun := range expanded {
				for item := range strings.SplitSeq(field, ",") {
					next = append(next, strings.TrimSpace(begun+" "+item))
				}
			}
			expanded = next
		}
		for _, permission := range expanded {
			all[permission] = reason
		}
	}
	return all
}

// requests are the requests to control planes of single tests.
var requests struct {
	mu  sync.Mutex
	all []framework.Request
}

// KeepRequests records the requests to a cluster that is about to be removed.
func KeepRequests(c *framework.Cluster) error {
	made, err := c.Requests()
	requests.mu.Lock()
	defer requests.mu.Unlock()
	requests.all = append(requests.all, made...)
	return err
}

// checkRoles compares the operator's requests with the roles of the released manifest. It checks unused permissions
// only after all tests of a package.
//
// Proves: L-19.
func (k Kind) checkRoles() error {
	roles, err := framework.ReadRoles()
	if err != nil {
		return err
	}
	if err := KeepRequests(Cluster); err != nil {
		return err
	}
	roles.Note(requests.all)
	err = roles.Missing()
	switch all := flag.Lookup("test.run").Value.String()+flag.Lookup("test.skip").Value.String() == ""; {
	case !all:
		return err
	case k == Lifecycle:
		return errors.Join(err, roles.RequireUsed(usedInLifecycle))
	}
	listed := maps.Clone(usedOtherwise)
	maps.Copy(listed, usedInLifecycle)
	return errors.Join(err, roles.Unused(listed))
}
