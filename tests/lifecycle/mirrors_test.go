// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// The API server has the real CRDs of OpenShift. The operator reads the labels of images that only a mirror has, by
// digest and by tag, once the cluster declares the mirror; pods keep the users' image references.
//
// Proves: ICSP, FR-027f, L-19.
func TestMirrorsOfTheClusterAreUsed(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(site.Close)
	mirror := strings.TrimPrefix(site.URL, "http://")
	base, _ := distributions.Base("starter", "0.7")
	image, err := mutate.Config(empty.Image, v1.Config{Labels: map[string]string{
		oci.LabelImageVersion: "0.7.1", oci.LabelConfigBase64: base64.StdEncoding.EncodeToString(base),
	}})
	framework.NoError(t, err)
	for _, tag := range []string{"/digests/server:1", "/policies/server:1", "/tags/server:build-7"} {
		ref, err := name.ParseReference(mirror + tag)
		framework.NoError(t, err)
		framework.NoError(t, remote.Push(ref, image))
	}
	digest, err := image.Digest()
	framework.NoError(t, err)

	s := installed(t)
	module := moduleDir(t, "github.com/openshift/api")
	for _, file := range []string{
		"config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_imagedigestmirrorsets.crd.yaml",
		"config/v1/zz_generated.crd-manifests/0000_10_config-operator_01_imagetagmirrorsets.crd.yaml",
		"operator/v1alpha1/zz_generated.crd-manifests/0000_10_config-operator_01_imagecontentsourcepolicies.crd.yaml",
	} {
		s.Kubectl("apply", "-f", filepath.Join(module, filepath.FromSlash(file)))
	}
	s.established("crd/imagedigestmirrorsets.config.openshift.io", "crd/imagetagmirrorsets.config.openshift.io",
		"crd/imagecontentsourcepolicies.operator.openshift.io")
	s.Kubectl("create", "namespace", "ai")
	s.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: llama-stack-operator-config, namespace: %s}, data: {registries: %q}}",
		framework.OperatorNamespace, fmt.Sprintf("plainHTTP: [%q]", mirror)))
	p := s.start(buildManager(t))

	images := map[string]string{
		"digests": "digests.invalid/server@" + digest.String(), "policies": "policies.invalid/server@" + digest.String(), "tags": "tags.invalid/server:build-7",
	}
	for called, image := range images {
		s.Apply(framework.Manifest(called, "distribution: {image: '"+image+"'}\n"+suite.VLLMProvider), "-n", "ai")
		s.waitMessage(called, "ConfigGenerated", func(message string) bool { return strings.Contains(message, "could not be read") })
	}
	s.Apply(fmt.Sprintf(`{apiVersion: config.openshift.io/v1, kind: ImageDigestMirrorSet, metadata: {name: m}, spec: {imageDigestMirrors: [
		{source: digests.invalid, mirrors: ["%s/digests"], mirrorSourcePolicy: NeverContactSource}]}}`, mirror))
	s.Apply(fmt.Sprintf(`{apiVersion: config.openshift.io/v1, kind: ImageTagMirrorSet, metadata: {name: m}, spec: {imageTagMirrors: [
		{source: tags.invalid, mirrors: ["%s/none", "%s/tags"]}]}}`, mirror, mirror))
	s.Apply(fmt.Sprintf(`{apiVersion: operator.openshift.io/v1alpha1, kind: ImageContentSourcePolicy, metadata: {name: m}, spec: {repositoryDigestMirrors: [
		{source: policies.invalid, mirrors: ["%s/policies"]}]}}`, mirror))
	for called, image := range images {
		s.waitField("llsd/"+called, `{.status.conditions[?(@.type=="ConfigGenerated")].status}`, "True")
		if got := s.Kubectl("get", "deployment", called, "-n", "ai", "-o", "jsonpath={.spec.template.spec.containers[0].image}"); got != image {
			t.Errorf("%s runs %q, want %q", called, got, image)
		}
	}
	p.Terminate(t)
	s.nothingWasDenied()
}
