// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Proves: FR-060, FR-062, R63 (the probe URL is the cluster IP of a Service that selects only the resource's pods).
func TestServerURLUsesOnlyServiceOfOwnPods(t *testing.T) {
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", UID: "u1"}}
	cr.Spec.Networking = &v1alpha2.NetworkingSpec{Port: new(int32(9000))}
	for name, c := range map[string]struct {
		change func(*corev1.Service)
		scheme corev1.URIScheme
		want   string
	}{
		"HTTP":  {func(*corev1.Service) {}, corev1.URISchemeHTTP, "http://10.96.0.7:9000"},
		"HTTPS": {func(*corev1.Service) {}, corev1.URISchemeHTTPS, "https://10.96.0.7:9000"},
		"IPv6":  {func(s *corev1.Service) { s.Spec.ClusterIP = "fd00::7" }, corev1.URISchemeHTTP, "http://[fd00::7]:9000"},
		"further port": {func(s *corev1.Service) {
			s.Spec.Ports = append([]corev1.ServicePort{{Name: "metrics", Protocol: corev1.ProtocolTCP, Port: 1}}, s.Spec.Ports...)
		}, corev1.URISchemeHTTP, "http://10.96.0.7:9000"},
		"unowned":          {func(s *corev1.Service) { s.OwnerReferences = nil }, corev1.URISchemeHTTP, ""},
		"of another owner": {func(s *corev1.Service) { s.OwnerReferences[0].UID = "u0" }, corev1.URISchemeHTTP, ""},
		"going":            {func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{} }, corev1.URISchemeHTTP, ""},
		"headless":         {func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }, corev1.URISchemeHTTP, ""},
		"no address yet":   {func(s *corev1.Service) { s.Spec.ClusterIP = "" }, corev1.URISchemeHTTP, ""},
		"another name": {func(s *corev1.Service) {
			s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, "db.ai.svc"
		}, corev1.URISchemeHTTP, ""},
		"another server":    {func(s *corev1.Service) { s.Spec.Selector = names.Selector("other") }, corev1.URISchemeHTTP, ""},
		"more pods":         {func(s *corev1.Service) { delete(s.Spec.Selector, "app") }, corev1.URISchemeHTTP, ""},
		"endpoints by hand": {func(s *corev1.Service) { s.Spec.Selector = nil }, corev1.URISchemeHTTP, ""},
		"another port":      {func(s *corev1.Service) { s.Spec.Ports[0].Port = 5432 }, corev1.URISchemeHTTP, ""},
	} {
		service := objects.Service(&objects.Params{CR: cr})
		service.Spec.ClusterIP = "10.96.0.7"
		c.change(service)
		url, why := objects.ServerURL(cr, service, c.scheme)
		if url != c.want || (why == "") != (url != "") {
			t.Errorf("%s: %q because %q, want %q", name, url, why, c.want)
		}
	}
}
