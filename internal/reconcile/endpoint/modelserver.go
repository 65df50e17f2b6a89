// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"encoding/json"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
)

// ModelServer has the identity and status of a KServe object; decoding skips the rest, which can be large.
type ModelServer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Status json.RawMessage `json:"status,omitempty"`
}

// InferenceService is the ModelServer of parse.KindInferenceService.
type InferenceService struct{ ModelServer }

// LLMInferenceService is the ModelServer of parse.KindLLMInferenceService.
type LLMInferenceService struct{ ModelServer }

// DeepCopyObject returns a copy.
func (s *InferenceService) DeepCopyObject() runtime.Object {
	return &InferenceService{s.deepCopy()}
}

// DeepCopyObject returns a copy.
func (s *LLMInferenceService) DeepCopyObject() runtime.Object {
	return &LLMInferenceService{s.deepCopy()}
}

func (s *ModelServer) deepCopy() ModelServer {
	copied := ModelServer{TypeMeta: s.TypeMeta, Status: append(json.RawMessage(nil), s.Status...)}
	s.DeepCopyInto(&copied.ObjectMeta)
	return copied
}

// AddToScheme registers KServe's objects as ModelServers.
func AddToScheme(scheme *runtime.Scheme) error {
	for kind, o := range map[parse.EndpointKind]runtime.Object{
		parse.KindInferenceService: &InferenceService{}, parse.KindLLMInferenceService: &LLMInferenceService{},
	} {
		version := GroupVersionKind(kind).GroupVersion()
		scheme.AddKnownTypeWithName(version.WithKind(string(kind)), o)
		metav1.AddToGroupVersion(scheme, version) // options of requests
	}
	return nil
}

// statusLimits bound a status; KServe's have some hundred values, or some thousand with many revisions.
var statusLimits = limits.Limits{Bytes: 256 << 10, Levels: 32, Nodes: 10_000}

// statusTree decodes a status; one that is not an object is empty.
func statusTree(status []byte) (tree map[string]any, excess *limits.ExcessError) {
	if len(status) == 0 {
		return nil, nil
	}
	if _, excess = limits.Scan(status, statusLimits); excess != nil {
		return nil, excess
	}
	_ = json.Unmarshal(status, &tree)
	return tree, nil
}

// addresses returns the single address and the list of named addresses in a status. It ignores other forms.
func addresses(status map[string]any) (single string, list []any) {
	address, _ := status["address"].(map[string]any)
	single, _ = address["url"].(string)
	list, _ = status["addresses"].([]any)
	return single, list
}

// plainReason matches reasons of conditions that a message may quote.
var plainReason = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,99}$`)

// notReady returns a text if the condition Ready of a status is not True, or "".
func notReady(status map[string]any) string {
	list, _ := status["conditions"].([]any)
	for _, item := range list {
		c, _ := item.(map[string]any)
		if c["type"] != "Ready" || c["status"] == string(metav1.ConditionTrue) {
			continue
		}
		if reason, _ := c["reason"].(string); plainReason.MatchString(reason) {
			return "is not Ready (" + reason + ")"
		}
		return "is not Ready"
	}
	return ""
}
