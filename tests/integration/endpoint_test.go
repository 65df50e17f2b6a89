// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

// kserve returns the fields of KServe's CRDs that the operator reads: groups, versions, kinds, and the addresses in the
// status.
func kserve() string {
	const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.serving.kserve.io}
spec:
  group: serving.kserve.io
  scope: Namespaced
  names: {kind: %[2]s, plural: %[1]ss, singular: %[1]s}
  versions:
  - name: %[3]s
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            properties:
              url: {type: string}
              conditions: {type: array, items: {type: object, properties: {type: {type: string}, status: {type: string}, reason: {type: string}}}}
              address: {type: object, properties: {url: {type: string}}}
              addresses: {type: array, items: {type: object, properties: {name: {type: string}, url: {type: string}}}}
---
`
	return fmt.Sprintf(crd, "inferenceservice", "InferenceService", "v1beta1") + fmt.Sprintf(crd, "llminferenceservice", "LLMInferenceService", "v1alpha1")
}

// admitModelServer writes the status that KServe would write.
func (e *env) admitModelServer(what, status string) {
	e.T.Helper()
	e.Kubectl("patch", what, "--subresource=status", "--type=merge", "-p", `{"status":`+status+`}`)
}

// waitConfig waits until the server's configuration contains a text, and returns the generation of the Deployment.
func (e *env) waitConfig(name, text string) int64 {
	e.T.Helper()
	e.Eventually("the configuration has "+text, func() error {
		generated := e.CR(name).Status.ConfigGeneration
		if generated == nil {
			return errors.New("no configuration")
		}
		cm := &corev1.ConfigMap{}
		if err := e.Get(cm, generated.ConfigMapName); err != nil {
			return err
		}
		if !strings.Contains(cm.Data["config.yaml"], text) {
			return errors.New(cm.Data["config.yaml"])
		}
		return nil
	})
	e.WaitCondition(name, v1alpha2.ConditionReady, metav1.ConditionTrue, "")
	return e.Deployment(name).Generation
}

// The addresses of model servers and tools come from other objects, and KServe's CRDs are installed after the resource.
// There is no KServe: the test writes the status that it would write.
//
// Proves: R11, R20, R48, NFR-005, L-19, READY-FIRST.
func TestEndpointsFollowTheirObjectsWithStatusWrittenByTheTest(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	op := e.StartOperator()
	e.Apply(framework.Manifest("s", `
distribution: {name: starter}
providers:
  inference:
  - {id: small, provider: vllm, endpointFrom: {kind: InferenceService, name: small}}
  - {id: large, provider: vllm, endpointFrom: {kind: LLMInferenceService, name: large}}
  - {id: plain, provider: vllm, endpointFrom: {kind: Service, name: plain}}
resources: {tools: [{name: "mcp::files", endpointFrom: {kind: Service, name: files, port: web}}]}
`))
	waits := func(wants ...string) {
		t.Helper()
		e.WaitCondition("s", v1alpha2.ConditionConfigGenerated, metav1.ConditionFalse, string(problem.DependencyNotReady), wants...)
	}
	waits("the cluster does not have the API of InferenceServices (serving.kserve.io/v1beta1)",
		"the cluster does not have the API of LLMInferenceServices (serving.kserve.io/v1alpha1)",
		"Service not found: plain (namespace "+e.Name+"): create it", "Service not found: files")

	e.Apply(kserve())
	framework.NoError(t, suite.Cluster.Established(t.Context(), "crd/inferenceservices.serving.kserve.io", "crd/llminferenceservices.serving.kserve.io"))
	e.Apply(`{apiVersion: serving.kserve.io/v1beta1, kind: InferenceService, metadata: {name: small}}
---
{apiVersion: serving.kserve.io/v1alpha1, kind: LLMInferenceService, metadata: {name: large}}
---
{apiVersion: v1, kind: Service, metadata: {name: plain}, spec: {ports: [{port: 8000}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: files}, spec: {ports: [{name: web, port: 8001}, {name: metrics, port: 9090}]}}
`)
	waits("InferenceService small (namespace "+e.Name+") has no address inside of the cluster in its status",
		"LLMInferenceService large (namespace "+e.Name+") has no address")
	e.admitModelServer("inferenceservice/small", `{"url":"https://small.example.com","address":{"url":"http://small-predictor.models.svc.cluster.local"}}`)
	e.admitModelServer("llminferenceservice/large", `{"addresses":[{"name":"gateway-external","url":"http://192.0.2.1/ai/large"},
		{"name":"gateway-internal","url":"http://gateway.gateways.svc.cluster.local/ai/large"}]}`)
	generation := e.waitConfig("s", "base_url: http://small-predictor.models.svc.cluster.local/v1\n")
	e.waitConfig("s", "base_url: http://gateway.gateways.svc.cluster.local/ai/large/v1\n")
	e.waitConfig("s", "base_url: http://plain."+e.Name+".svc:8000/v1\n")
	e.waitConfig("s", "http://files."+e.Name+".svc:8001/mcp\n")

	expectRollouts := func(count int64) {
		t.Helper()
		e.Quiet(op)
		if got := e.Deployment("s").Generation - generation; got != count {
			t.Fatalf("%d rollouts, want %d", got, count)
		}
		generation += count
	}
	e.Quiet(op)
	generation = e.Deployment("s").Generation
	e.admitModelServer("inferenceservice/small", `{"url":"https://other.example.com"}`) // the server does not use this URL
	expectRollouts(0)
	e.admitModelServer("inferenceservice/small", `{"address":{"url":"http://small-2.models.svc.cluster.local"}}`)
	e.waitConfig("s", "http://small-2.models.svc.cluster.local/v1\n")
	expectRollouts(1)
	e.Kubectl("delete", "service", "plain")
	waits("Service not found: plain")
	expectRollouts(0)
	e.WaitCondition("s", v1alpha2.ConditionAvailable, metav1.ConditionTrue, "")
	e.Apply(`{apiVersion: v1, kind: Service, metadata: {name: plain}, spec: {ports: [{name: https, port: 8443}]}}`)
	e.waitConfig("s", "base_url: https://plain."+e.Name+".svc:8443/v1\n")
	expectRollouts(1)
	e.Kubectl("delete", "llsd", "s", "--cascade=foreground")
	e.expectFirstStartToWait(op)
}

// expectFirstStartToWait checks that a server starts first when its model servers are Ready, and keeps running when one
// is not later.
func (e *env) expectFirstStartToWait(op *suite.Operator) {
	t := e.T
	ready := func(object, status string) {
		e.admitModelServer(object, `{"address":{"url":"http://m.models.svc.cluster.local"},"conditions":[
			{"type":"RoutesReady","status":"True"},{"type":"Ready","status":"`+status+`","reason":"RevisionMissing"}]}`)
	}
	ready("inferenceservice/small", "False")
	ready("llminferenceservice/large", "Unknown")
	e.Apply(framework.Manifest("s", `
distribution: {name: starter}
providers:
  inference:
  - {id: small, provider: vllm, endpointFrom: {kind: InferenceService, name: small}}
  - {id: large, provider: vllm, endpointFrom: {kind: LLMInferenceService, name: large}}
`))
	waits := func(wants ...string) {
		t.Helper()
		e.WaitCondition("s", v1alpha2.ConditionReady, metav1.ConditionFalse, string(problem.DependencyNotReady), wants...)
	}
	waits("spec.providers.inference[0].endpointFrom: InferenceService small (namespace "+e.Name+") is not Ready (RevisionMissing)",
		"spec.providers.inference[1].endpointFrom: LLMInferenceService large (namespace "+e.Name+") is not Ready (RevisionMissing)")
	e.Quiet(op)
	if made := e.written(); len(made) > 0 {
		t.Errorf("objects were made although no model server is Ready: %v", made)
	}
	ready("inferenceservice/small", "True")
	waits("LLMInferenceService large")
	ready("llminferenceservice/large", "True")
	e.WaitReady("s")

	before := e.Deployment("s").Generation
	for _, status := range []string{"False", "True"} {
		ready("inferenceservice/small", status)
		e.Quiet(op)
		e.WaitCondition("s", v1alpha2.ConditionReady, metav1.ConditionTrue, "")
	}
	if got := e.Deployment("s").Generation; got != before {
		t.Errorf("a model server that was not Ready for a while rolled the pods %d times", got-before)
	}
}
