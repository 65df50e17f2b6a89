// SPDX-License-Identifier: Apache-2.0

package controlplane

import "os"

// auditPolicy records the requests, without bodies, of ServiceAccounts other than those of Kubernetes itself.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// Files of the audit log, below the cluster's directory.
const (
	auditPolicyFile = "audit-policy.yaml"
	auditLogFile    = "log/audit.log"
)

func (c Config) writeAuditPolicy() error {
	return os.WriteFile(c.Path(auditPolicyFile), []byte(auditPolicy), 0o600)
}

func (c Config) auditArgs() []string {
	return []string{
		"--audit-policy-file=" + c.Path(auditPolicyFile), "--audit-log-path=" + c.Path(auditLogFile),
		"--audit-log-maxsize=10000", // MB: all requests are in one file
	}
}
