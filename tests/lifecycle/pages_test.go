// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// pagesOfReference are the pages whose commands need a control plane and no node, with the number of their blocks. They
// run in this order, because the last ones replace what the others need; around has functions to call before and after
// a block that contains a text.
var pagesOfReference = []struct {
	page, info string
	blocks     int
	around     map[string]func(*follower) (after func())
}{
	{page: "permissions.md", info: "sh", blocks: 1},
	{page: "metrics.md", info: "sh", blocks: 1},
	{page: "monitoring.md", info: "sh", blocks: 3},
	{page: "auth.md", info: "console", blocks: 1},
	{page: "status.md", info: "console", blocks: 1},
	{page: "sharding.md", info: "sh", blocks: 1},
	{page: "kubectl-plugin.md", info: "console", blocks: 3},
	{page: "webhooks.md", info: "sh", blocks: 5, around: map[string]func(*follower) (after func()){
		"delete secret": (*follower).replacesCertificate,
		`"None"`: func(f *follower) (after func()) {
			return func() {
				if got := f.Kubectl("get", framework.CRD, "-o", "jsonpath={.spec.conversion.strategy}"); got != "None" {
					f.T.Errorf("conversion is %s", got)
				}
			}
		},
	}},
	{page: "downgrade.md", info: "sh", blocks: 1},
}

// followedElsewhere are the blocks that other tests run, with Helm's library and with a browser.
var followedElsewhere = []string{"helm ", "llamastack playground"}

// openKinds are other projects' kinds in the pages, for which the test installs CRDs without a schema.
var openKinds = map[string][]string{
	"monitoring.coreos.com": {"ServiceMonitor", "PodMonitor", "PrometheusRule"}, "cert-manager.io": {"Certificate", "Issuer"},
}

// Each block "sh" succeeds, and each command of a block "console" prints what the page shows.
//
// Proves: NFR-004, FR-075.
func TestPagesOfReference(t *testing.T) {
	t.Parallel()
	s := serveOne(t)
	s.awaitValidation()
	f := s.follower()
	f.settle("ai")
	for _, p := range pagesOfReference {
		found := 0
		for _, b := range framework.CodeBlocks(t, filepath.Join(framework.Root(), "docs", p.page)) {
			if b.Info != p.info || containsAny(b.Text, followedElsewhere) {
				continue
			}
			found++
			var checks []func()
			for text, before := range p.around {
				if strings.Contains(b.Text, text) {
					checks = append(checks, before(f))
				}
			}
			if b.Info == "sh" {
				f.Run(b.Text)
			} else {
				f.Console(p.page, b)
			}
			for _, check := range checks {
				check()
			}
		}
		if found != p.blocks {
			t.Errorf("%s: %d blocks are found, want %d", p.page, found, p.blocks)
		}
	}
}

// replacesCertificate returns a check that the API server calls the webhook with a new certificate.
func (f *follower) replacesCertificate() (after func()) {
	old := f.secret().Data[corev1.TLSCertKey]
	return func() {
		f.Eventually("another certificate is served", func() error {
			made := &corev1.Secret{}
			if err := f.Client.Get(f.T.Context(), client.ObjectKey{Namespace: framework.OperatorNamespace, Name: certificates.SecretName}, made); err != nil {
				return err
			}
			if bytes.Equal(old, made.Data[corev1.TLSCertKey]) {
				return errors.New("the Secret has the old one")
			}
			return f.shakesHands(func() *tls.Config { return trusting(made.Data[corev1.ServiceAccountRootCAKey]) })(f.T.Context())
		})
		f.service.CloseConnections() // the API server reuses its connections
		f.awaitValidation()
	}
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// settle gives the reader a checkout, a namespace with two servers, and the pages' prerequisites.
func (f *follower) settle(namespace string) {
	f.T.Helper()
	framework.NoError(f.T, os.Symlink(filepath.Join(framework.Root(), "config"), filepath.Join(f.Dir, "config")))
	var crds []string
	for group, kinds := range openKinds {
		for _, kind := range kinds {
			plural := strings.ToLower(kind) + "s"
			f.Apply(fmt.Sprintf(openKind, plural+"."+group, group, kind, plural))
			crds = append(crds, "crd/"+plural+"."+group)
		}
	}
	f.established(crds...)
	shown := framework.Sample(f.T, "v1alpha2-simple.yaml")
	f.Write("my-stack.yaml", shown)
	f.Run("kubectl create namespace " + namespace + "; kubectl config set-context --current --namespace=" + namespace + `
kubectl create namespace platform; kubectl create configmap shared-config -n platform; kubectl create namespace monitoring
kubectl create serviceaccount my-app
kubectl apply -f my-stack.yaml; sed 's/name: my-stack/name: my-server/' my-stack.yaml | kubectl apply -f -`)
	f.Write("my-stack.yaml", strings.Replace(shown, "http://vllm:8000", "http://other:8000", 1))
}

const openKind = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[1]s}, spec: {
  group: %[2]s, scope: Namespaced, names: {kind: %[3]s, plural: %[4]s},
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`
