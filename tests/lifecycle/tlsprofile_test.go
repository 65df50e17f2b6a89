// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// The API server has the real CRD of OpenShift. Both ports of one process follow each edit of the profile.
//
// Proves: TLSPROFILE, L-19.
func TestPortsFollowTheTLSProfileOfTheCluster(t *testing.T) {
	t.Parallel()
	s := installed(t)
	s.Kubectl("apply", "-f", filepath.Join(moduleDir(t, "github.com/openshift/api"), "config", "v1", "zz_generated.crd-manifests",
		"0000_10_config-operator_01_apiservers-Default.crd.yaml"))
	s.established("crd/apiservers.config.openshift.io")
	p := s.start(buildManager(t))
	oldest := func(want uint16) {
		t.Helper()
		for port, address := range map[string]string{"webhooks": p.Webhook, "metrics": p.Metrics} {
			s.Eventually(fmt.Sprintf("%s need %s", port, tls.VersionName(want)), func() error {
				for version := uint16(tls.VersionTLS10); version <= tls.VersionTLS13; version++ {
					conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true, MinVersion: version, MaxVersion: version})
					if err == nil {
						_ = conn.Close()
					}
					if accepted := err == nil; accepted != (version >= want) {
						return fmt.Errorf("%s: accepted %v, %w", tls.VersionName(version), accepted, err)
					}
				}
				return nil
			})
		}
	}
	profile := func(value string) {
		t.Helper()
		s.Kubectl("patch", "apiserver.config.openshift.io", "cluster", "--type=merge", "-p", `{"spec":{"tlsSecurityProfile":`+value+`}}`)
	}
	oldest(tls.VersionTLS12)
	s.Apply(`{apiVersion: config.openshift.io/v1, kind: APIServer, metadata: {name: cluster}, spec: {tlsSecurityProfile: {type: Modern, modern: {}}}}`)
	oldest(tls.VersionTLS13)
	s.Kubectl("create", "namespace", "ai")
	s.Apply(framework.Manifest("converted", "distribution: {name: starter}"), "-n", "ai") // the API server reaches the webhooks
	s.Kubectl("get", v1alpha1Kind, "converted", "-n", "ai")
	profile(`{"type":"Old","old":{},"modern":null}`)
	oldest(tls.VersionTLS10)
	profile(`{"type":"Custom","old":null,"custom":{"minTLSVersion":"VersionTLS11","ciphers":["ECDHE-ECDSA-AES128-SHA","ECDHE-RSA-AES128-SHA"]}}`)
	oldest(tls.VersionTLS11)
	profile(`{"type":"Custom","custom":{"minTLSVersion":"VersionTLS11","ciphers":["DHE-RSA-AES128-GCM-SHA256"]}}`)
	oldest(tls.VersionTLS12)
	profile(`{"type":"Modern","custom":null,"modern":{}}`)
	oldest(tls.VersionTLS13)
	s.Kubectl("delete", "apiserver.config.openshift.io", "cluster")
	oldest(tls.VersionTLS12)
	select {
	case <-p.Ended:
		t.Error("the process ended")
	default:
	}
	p.Terminate(t)
	s.nothingWasDenied()
}
