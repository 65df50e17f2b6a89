// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"flag"
	"maps"
	"os"
	"sync"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const operatorUser = "system:serviceaccount:" + operatorNamespace + ":" + operatorServiceAccount

// usedOtherwise are the permissions of dist/install.yaml that no request of the integration tests shows, with the reason.
var usedOtherwise = map[string]string{
	"manager-role: llamastack.io llamastackdistributions/finalizers update": "no request has this verb: the admission plugin " +
		"OwnerReferencesPermissionEnforcement, which OpenShift turns on, checks it where an object gets an owner that blocks deletion",
	"manager-role: route.openshift.io routes/custom-host create": "no request has this resource: OpenShift checks it where a Route gets a host name",
	"manager-role: route.openshift.io routes/custom-host update": "no request has this resource: OpenShift checks it where the host name of a Route changes",
}

// usedInLifecycle are the permissions that only the tests of "make test-lifecycle" show, with the reason.
var usedInLifecycle = map[string]string{
	"leader-election-role: coordination.k8s.io leases create": "the program itself",
	"leader-election-role: coordination.k8s.io leases get":    "the program itself",
	"leader-election-role: coordination.k8s.io leases update": "the program itself",
	"leader-election-role: events create":                     "the program itself",
	"manager-role: admissionregistration.k8s.io validatingwebhookconfigurations list llama-stack-k8s-operator-validating-webhook-configuration":  "certificates of the webhooks",
	"manager-role: admissionregistration.k8s.io validatingwebhookconfigurations patch llama-stack-k8s-operator-validating-webhook-configuration": "certificates of the webhooks",
	"manager-role: admissionregistration.k8s.io validatingwebhookconfigurations watch llama-stack-k8s-operator-validating-webhook-configuration": "certificates of the webhooks",
	"manager-role: apiextensions.k8s.io customresourcedefinitions get llamastackdistributions.llamastack.io":                                     "certificates of the webhooks",
	"manager-role: apiextensions.k8s.io customresourcedefinitions list llamastackdistributions.llamastack.io":                                    "certificates of the webhooks",
	"manager-role: apiextensions.k8s.io customresourcedefinitions patch llamastackdistributions.llamastack.io":                                   "certificates of the webhooks",
	"manager-role: apiextensions.k8s.io customresourcedefinitions watch llamastackdistributions.llamastack.io":                                   "certificates of the webhooks",
	"manager-role: apiextensions.k8s.io customresourcedefinitions/status patch llamastackdistributions.llamastack.io":                            "migration of storage",
	"manager-role: config.openshift.io imagedigestmirrorsets list":                                                                               "mirrors of a cluster that has them",
	"manager-role: config.openshift.io imagedigestmirrorsets watch":                                                                              "mirrors of a cluster that has them",
	"manager-role: config.openshift.io imagetagmirrorsets list":                                                                                  "mirrors of a cluster that has them",
	"manager-role: config.openshift.io imagetagmirrorsets watch":                                                                                 "mirrors of a cluster that has them",
	"manager-role: gateway.networking.k8s.io gateways get":                                                                                       "Gateways of a cluster that has them",
	"manager-role: gateway.networking.k8s.io httproutes create":                                                                                  "Gateways of a cluster that has them",
	"manager-role: gateway.networking.k8s.io httproutes delete":                                                                                  "Gateways of a cluster that has them",
	"manager-role: gateway.networking.k8s.io httproutes get":                                                                                     "Gateways of a cluster that has them",
	"manager-role: gateway.networking.k8s.io httproutes list":                                                                                    "Gateways of a cluster that has them",
	"manager-role: gateway.networking.k8s.io httproutes patch":                                                                                   "Gateways of a cluster that has them",
	"manager-role: gateway.networking.k8s.io httproutes watch":                                                                                   "Gateways of a cluster that has them",
	"manager-role: llamastack.io llamastackdistributions patch":                                                                                  "migration of storage",
	"manager-role: operator.openshift.io imagecontentsourcepolicies list":                                                                        "mirrors of a cluster that has them",
	"manager-role: operator.openshift.io imagecontentsourcepolicies watch":                                                                       "mirrors of a cluster that has them",
	"manager-role: rbac.authorization.k8s.io clusterrolebindings delete llama-stack-k8s-operator-proxy-rolebinding":                              "leftovers of release 0.9",
	"manager-role: rbac.authorization.k8s.io clusterrolebindings get llama-stack-k8s-operator-proxy-rolebinding":                                 "leftovers of release 0.9",
	"manager-role: rbac.authorization.k8s.io clusterroles get llama-stack-k8s-operator-llsd-editor-role":                                         "leftovers of release 0.9",
	"manager-role: rbac.authorization.k8s.io clusterroles get llama-stack-k8s-operator-llsd-viewer-role":                                         "leftovers of release 0.9",
	"manager-role: rbac.authorization.k8s.io clusterroles get llama-stack-k8s-operator-proxy-role":                                               "leftovers of release 0.9",
	"manager-role: route.openshift.io routes create":                                                                                             "Routes of a cluster that has them",
	"manager-role: route.openshift.io routes delete":                                                                                             "Routes of a cluster that has them",
	"manager-role: route.openshift.io routes get":                                                                                                "Routes of a cluster that has them",
	"manager-role: route.openshift.io routes list":                                                                                               "Routes of a cluster that has them",
	"manager-role: route.openshift.io routes patch":                                                                                              "Routes of a cluster that has them",
	"manager-role: route.openshift.io routes watch":                                                                                              "Routes of a cluster that has them",
	"metrics-auth-role: authentication.k8s.io tokenreviews create":                                                                               "who may read the metrics",
	"metrics-auth-role: authorization.k8s.io subjectaccessreviews create":                                                                        "who may read the metrics",
	"own-namespace-role: secrets list llama-stack-operator-webhook-cert":                                                                         "certificates of the webhooks",
	"own-namespace-role: secrets update llama-stack-operator-webhook-cert":                                                                       "certificates of the webhooks",
	"own-namespace-role: secrets watch llama-stack-operator-webhook-cert":                                                                        "certificates of the webhooks",
}

// lifecycleVariable has the pattern of the tests that "make test-lifecycle" runs and "make test-integration" leaves out.
const lifecycleVariable = "LLSD_LIFECYCLE_TESTS"

// requests are those that ServiceAccounts made to the clusters of these tests, but for the ones of the shared cluster.
var requests struct {
	mu  sync.Mutex
	all []framework.Request
}

// keepRequests keeps the requests to a cluster that is about to be removed.
func keepRequests(c *framework.Cluster) error {
	made, err := c.Requests()
	requests.mu.Lock()
	defer requests.mu.Unlock()
	requests.all = append(requests.all, made...)
	return err
}

// rolesFitTheRequests compares, after all tests, what the operator asked of API servers with what the released manifest lets it do.
// Only after all tests is it known whether everything in the roles is used: the tests of both targets know it together.
//
// Proves: L-19.
func rolesFitTheRequests() error {
	roles, err := framework.ReadRoles()
	if err != nil {
		return err
	}
	if err := keepRequests(cluster); err != nil {
		return err
	}
	roles.Note(requests.all)
	run, skip, lifecycle := flag.Lookup("test.run").Value.String(), flag.Lookup("test.skip").Value.String(), os.Getenv(lifecycleVariable)
	listed := maps.Clone(usedOtherwise)
	switch {
	case run == "" && skip == "":
	case run == "" && skip == lifecycle:
		maps.Copy(listed, usedInLifecycle)
	case run == lifecycle && skip == "":
		return errors.Join(roles.Missing(), roles.RequireUsed(usedInLifecycle))
	default:
		return roles.Missing()
	}
	return errors.Join(roles.Missing(), roles.Unused(listed))
}
