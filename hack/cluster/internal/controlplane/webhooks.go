// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"fmt"
	"os"
)

// The API server presents a certificate of the cluster's CA to validating webhooks, as an administrator can configure
// it.
const (
	webhookClientUser     = "kube-apiserver-webhooks"
	webhookClientFile     = "webhook-client"
	webhookConfigFile     = "admission.yaml"
	webhookKubeconfigFile = "webhooks.kubeconfig"
	webhookConfig         = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n- name: ValidatingAdmissionWebhook\n" +
		"  configuration:\n    apiVersion: apiserver.config.k8s.io/v1\n    kind: WebhookAdmissionConfiguration\n    kubeConfigFile: %s\n"
	webhookKubeconfig = "apiVersion: v1\nkind: Config\nusers:\n- name: '*'\n  user:\n    client-certificate: %s\n    client-key: %s\n"
)

func (c Config) writeWebhookConfig() error {
	certificate := c.Path("pki/" + webhookClientFile)
	return errors.Join(
		os.WriteFile(c.Path(webhookConfigFile), fmt.Appendf(nil, webhookConfig, c.Path(webhookKubeconfigFile)), 0o600),
		os.WriteFile(c.Path(webhookKubeconfigFile), fmt.Appendf(nil, webhookKubeconfig, certificate+".crt", certificate+".key"), 0o600),
	)
}
