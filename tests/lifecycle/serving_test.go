// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/certificates"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

func spoke(name, rest string) string {
	return fmt.Sprintf(`{"apiVersion":"llamastack.io/v1alpha1","kind":"LlamaStackDistribution","metadata":{"name":%q,"namespace":"default"},
		"spec":{"server":{"distribution":{"name":"starter"}%s}}}`, name, rest)
}

func hub(name, rest string) string {
	return fmt.Sprintf(`{"apiVersion":"llamastack.io/v1alpha2","kind":"LlamaStackDistribution","metadata":{"name":%q,"namespace":"default"},
		"spec":{"distribution":{"name":"starter"}%s}}`, name, rest)
}

func field(u *unstructured.Unstructured, path string) any {
	value, _, _ := unstructured.NestedFieldNoCopy(u.Object, strings.Split(path, ".")...)
	return value
}

func (s *controlPlane) wantFields(version, name string, want map[string]any) {
	s.T.Helper()
	u := s.version(version, name)
	for path, value := range want {
		if got := field(u, path); fmt.Sprint(got) != fmt.Sprint(value) {
			s.T.Errorf("%s in %s: %s is %v, want %v", name, version, path, got, value)
		}
	}
}

// Proves: FR-080, FR-081, FR-082, US-7.2, US-7.3, L-25, R52 (both versions through a real API server; the columns and
// the selectable fields of v1alpha1 are those of release 0.9).
func TestBothVersions(t *testing.T) {
	t.Parallel()
	s := serveOne(t)

	t.Run("created as either, read as both", func(*testing.T) {
		s.Apply(spoke("old", `,"containerSpec":{"name":"main","port":8400},"podOverrides":{"terminationGracePeriodSeconds":90}`))
		s.wantFields("v1alpha1", "old", map[string]any{
			"spec.server.containerSpec.name": "main", "spec.server.containerSpec.port": 8400, "spec.server.podOverrides.terminationGracePeriodSeconds": 90,
		})
		s.wantFields("v1alpha2", "old", map[string]any{"spec.networking.port": 8400, "spec.distribution.name": "starter", "spec.workload.replicas": 1})

		s.Apply(hub("new", `,"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm:8000"}},"networking":{"expose":{"hostname":"a.example.com"}}`))
		s.wantFields("v1alpha2", "new", map[string]any{"spec.providers.inference.provider": "vllm", "spec.networking.expose.hostname": "a.example.com"})
		s.wantFields("v1alpha1", "new", map[string]any{"spec.server.distribution.name": "starter", "spec.network.exposeRoute": true, "spec.providers": nil})
	})

	t.Run("updated through both", func(*testing.T) {
		s.Kubectl("patch", v1alpha1Kind, "new", "--type=merge", "-p", `{"spec":{"replicas":3}}`)
		s.wantFields("v1alpha2", "new", map[string]any{
			"spec.workload.replicas": 3, "spec.providers.inference.endpoint": "http://vllm:8000", "spec.networking.expose.hostname": "a.example.com",
		})
		s.Kubectl("patch", "llsd", "old", "--type=merge", "-p", `{"spec":{"networking":{"port":8500}}}`)
		s.wantFields("v1alpha1", "old", map[string]any{"spec.server.containerSpec.port": 8500, "spec.server.containerSpec.name": "main"})
		u := s.version("v1alpha1", "new") // a whole object, as "kubectl edit" and "kubectl replace" send it
		framework.NoError(s.T, unstructured.SetNestedField(u.Object, int64(8600), "spec", "server", "containerSpec", "port"))
		framework.NoError(s.T, s.Client.Update(s.T.Context(), u))
		s.wantFields("v1alpha2", "new", map[string]any{"spec.networking.port": 8600, "spec.providers.inference.provider": "vllm"})
	})

	t.Run("applied through both by the server, managers kept", func(*testing.T) {
		ssa := func(manager, manifest string) { s.Apply(manifest, "--server-side", "--field-manager", manager) }
		ssa("team-old", spoke("shared", `,"containerSpec":{"port":8400,"env":[{"name":"A","value":"1"}]}`))
		ssa("team-new", hub("shared", `,"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm:8000"}},"workload":{"workers":2}`))
		managers := func(version string) map[string]string {
			found := map[string]string{}
			for _, m := range s.version(version, "shared").GetManagedFields() {
				found[m.Manager] = m.APIVersion
			}
			return found
		}
		for _, version := range []string{"v1alpha1", "v1alpha2"} {
			if got := managers(version); got["team-old"] != "llamastack.io/v1alpha1" || got["team-new"] != "llamastack.io/v1alpha2" {
				s.T.Errorf("managers in %s: %v", version, got)
			}
		}
		// A field that a manager omits from its next apply is removed in its version; the other manager's fields stay.
		ssa("team-old", spoke("shared", `,"containerSpec":{"env":[{"name":"A","value":"1"}]}`))
		s.wantFields("v1alpha2", "shared", map[string]any{"spec.networking.port": nil, "spec.workload.workers": 2, "spec.providers.inference.provider": "vllm"})
		ssa("team-new", hub("shared", `,"workload":{"workers":2}`))
		s.wantFields("v1alpha1", "shared", map[string]any{"spec.server.workers": 2, "spec.server.containerSpec.env": "[map[name:A value:1]]"})
		s.wantFields("v1alpha2", "shared", map[string]any{"spec.providers": nil})
		before := s.version("v1alpha2", "shared")
		ssa("team-old", spoke("shared", `,"containerSpec":{"env":[{"name":"A","value":"1"}]}`))
		ssa("team-new", hub("shared", `,"workload":{"workers":2}`))
		if after := s.version("v1alpha2", "shared"); after.GetGeneration() != before.GetGeneration() || after.GetResourceVersion() != before.GetResourceVersion() {
			s.T.Errorf("applying the same again wrote: generation %d to %d", before.GetGeneration(), after.GetGeneration())
		}
	})

	t.Run("watched in both", func(t *testing.T) {
		for _, version := range []string{"v1alpha1", "v1alpha2"} {
			list := &unstructured.UnstructuredList{}
			list.SetAPIVersion("llamastack.io/" + version)
			list.SetKind("LlamaStackDistributionList")
			if err := s.Client.List(t.Context(), list, client.InNamespace("default")); err != nil || len(list.Items) != 3 {
				t.Fatalf("%s: %d objects, %v", version, len(list.Items), err)
			}
			watch, err := s.Client.Watch(t.Context(), list, client.InNamespace("default"), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
			framework.NoError(t, err)
			s.Kubectl("label", "llsd", "old", "--overwrite", "seen-in="+version)
			select {
			case event := <-watch.ResultChan():
				u, ok := event.Object.(*unstructured.Unstructured)
				if !ok || u.GetAPIVersion() != "llamastack.io/"+version || u.GetLabels()["seen-in"] != version {
					t.Errorf("%s: event %+v", version, event)
				}
			case <-time.After(time.Minute):
				t.Errorf("%s: no event", version)
			}
			watch.Stop()
		}
	})

	t.Run("scale and columns of v1alpha1", func(t *testing.T) {
		s.Kubectl("scale", v1alpha1Kind, "old", "--replicas=2")
		s.wantFields("v1alpha2", "old", map[string]any{"spec.workload.replicas": 2})
		s.Kubectl("patch", "llsd", "old", "--subresource=status", "--type=merge", "-p",
			`{"status":{"phase":"Ready","availableReplicas":2,"version":{"operatorVersion":"1.2.3","llamaStackServerVersion":"0.7.1"}}}`)
		for _, format := range []string{"", "wide"} {
			out := s.Kubectl("get", v1alpha1Kind, "old", "-o", format)
			rows := framework.Columns(out)
			if len(rows) != 2 || !cmp.Equal(rows[0], []string{"NAME", "PHASE", "OPERATOR", "VERSION", "SERVER", "VERSION", "AVAILABLE", "AGE"}) ||
				!cmp.Equal(rows[1][:len(rows[1])-1], []string{"old", "Ready", "1.2.3", "0.7.1", "2"}) {
				t.Errorf("kubectl get -o %q prints:\n%s", format, out)
			}
		}
	})

	t.Run("selected by the fields of v1alpha1", func(t *testing.T) {
		s.Apply(spoke("selected", `,"userConfig":{"configMapName":"cm","configMapNamespace":"elsewhere"},
			"tlsConfig":{"caBundle":{"configMapName":"ca","configMapNamespace":"far"}}`))
		s.Apply(hub("written-anew", `,"overrideConfig":{"configMapName":"cm"},"networking":{"tls":{"caBundle":{"configMapName":"ca"}}}`))
		if s.Kubectl("get", framework.CRD, "-o", "jsonpath={.spec.versions[*].selectableFields}") == "" && framework.OldKubernetes() {
			t.Log("this Kubernetes drops selectable fields: it is older than 1.31")
			return
		}
		const both = "written-anew selected"
		for selector, want := range map[string]string{
			"spec.server.userConfig.configMapName=cm":                    both,
			"spec.server.userConfig.configMapNamespace=elsewhere":        "selected",
			"spec.server.tlsConfig.caBundle.configMapName=ca":            both,
			"spec.server.tlsConfig.caBundle.configMapNamespace=far":      "selected",
			"spec.server.userConfig.configMapName=other":                 "",
			"spec.server.userConfig.configMapName=cm,metadata.name=none": "",
		} {
			got := strings.Fields(s.Kubectl("get", v1alpha1Kind, "-o", "jsonpath={.items[*].metadata.name}", "--field-selector", selector))
			if diff := cmp.Diff(strings.Fields(want), got, cmpopts.SortSlices(strings.Compare), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", selector, diff)
			}
		}
	})
}

// Proves: L-27, L-34 (the webhooks serve certificates from another source as soon as the Secret has them; the API
// server trusts a new CA long before the overlap ends).
func TestExternalCertificates(t *testing.T) {
	t.Parallel()
	s := installed(t)
	r := s.startReplica(replicaOptions{elsewhere: true})
	make1, make2 := caElsewhere(t), caElsewhere(t)
	s.in(framework.OperatorNamespace).PutTLSSecret(&suite.Canaries, certificates.SecretName, make1)
	s.inject(make1["ca.crt"])
	s.serve(r)
	s.Apply(spoke("measured", ""))
	s.version("v1alpha1", "measured")

	s.in(framework.OperatorNamespace).PutTLSSecret(&suite.Canaries, certificates.SecretName, make2)
	s.Eventually("the new certificate is served", func() error {
		if err := r.ready(); err == nil {
			return fmt.Errorf("it is ready, although the definition does not trust it")
		}
		return nil
	})
	s.service.CloseConnections()
	if _, err := s.tryVersion("v1alpha1", "measured"); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Errorf("the API server says %v, want it not to trust the certificate", err)
	}
	began := time.Now()
	s.inject(append(bytes.Clone(make1["ca.crt"]), make2["ca.crt"]...))
	s.Eventually("the API server trusts the new authority", func() error {
		_, err := s.tryVersion("v1alpha1", "measured")
		return err
	})
	took := time.Since(began)
	t.Logf("the API server used the new CA bundle after %s", took.Round(time.Millisecond))
	if overlap := certificates.DefaultLifetimes().Overlap; overlap < 100*took {
		t.Errorf("old and new CA overlap for %s, want far more than %s", overlap, took)
	}
	s.Eventually("the replica is ready again", r.ready)

	// The validating webhook has its own CA bundle: it may fail, conversion must not.
	s.injectValidation(caElsewhere(t)["ca.crt"])
	next := s.startReplica(replicaOptions{elsewhere: true})
	s.Eventually("a replica is ready although the validating webhook trusts another CA", next.ready)
}
