// SPDX-License-Identifier: Apache-2.0

package framework

// The names of dist/install.yaml.
const (
	OperatorNamespace = "llama-stack-k8s-operator-system"
	// OperatorName is the name of the operator's Deployment and of its ServiceAccount.
	OperatorName   = "llama-stack-k8s-operator-controller-manager"
	OperatorUser   = "system:serviceaccount:" + OperatorNamespace + ":" + OperatorName
	OperatorLease  = "54e06e98.llamastack.io"
	WebhookService = "llama-stack-k8s-operator-webhook-service"
	// WebhookHost is the host name in the certificates of the webhooks.
	WebhookHost = WebhookService + "." + OperatorNamespace + ".svc"
	CRDName     = "llamastackdistributions.llamastack.io"
	// CRD is the CRD as an argument of kubectl.
	CRD = "crd/" + CRDName
)
