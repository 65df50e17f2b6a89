// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/webhook/admission"
)

// ValidationPath is the path of the validating webhook.
const ValidationPath = "/validate"

const (
	// maxAdmissionReview is the largest AdmissionReview, in bytes; it holds the new and the old object of up to 1.5 MiB
	// each.
	maxAdmissionReview = 4 << 20
	// admissionWait bounds the wait to be decoded, validationTimeout the validation itself. Their sum is below
	// timeoutSeconds of the webhook configuration.
	admissionWait     = time.Second
	validationTimeout = 1500 * time.Millisecond
)

// Validation serves AdmissionReviews of LlamaStackDistributions.
type Validation struct {
	// Gather reads the inputs from caches; only new registrations need requests.
	Gather Gather
	// GatherLive reads from the API server before a request is rejected, because the cache may be stale; nil skips this.
	GatherLive Gather
}

// Gather reads the inputs of a validation.
type Gather func(context.Context, *v1alpha2.LlamaStackDistribution) (*build.Inputs, problem.List)

// result validates with cached inputs, and repeats a rejection with live inputs if these differ.
func (v *Validation) result(ctx context.Context, request *admission.Request) admission.Result {
	facts, problems := v.Gather(ctx, request.New)
	result := admission.Validate(ctx, request, facts, problems)
	if len(result.Errors) == 0 || v.GatherLive == nil {
		return result
	}
	live, problems := v.GatherLive(ctx, request.New)
	if equalInputs(facts, live) {
		return result
	}
	return admission.Validate(ctx, request, live, problems)
}

// equalInputs reports whether two inputs have the same settings. It returns false if a has no distribution, because
// the reason may be a stale cache.
func equalInputs(a, b *build.Inputs) bool {
	return a.Distribution != nil && reflect.DeepEqual(a.NetworkPolicyFlag, b.NetworkPolicyFlag) &&
		reflect.DeepEqual(a.Forbidden, b.Forbidden) &&
		slices.EqualFunc(a.Endpoints, b.Endpoints, func(a, b build.EndpointFact) bool {
			return a.Ref.Path == b.Ref.Path &&
				a.State == b.State
		}) &&
		reflect.DeepEqual(a.Distribution, b.Distribution) //nolint:govet // equal texts have equal errors
}

// Kind returns the Kind for AdmissionReviews.
func (v *Validation) Kind() Kind {
	return Kind{Path: ValidationPath, MaxBytes: maxAdmissionReview, Wait: admissionWait, ClientCertificates: true,
		Read: v.read}
}

// admissionReview is an AdmissionReview with undecoded objects.
type admissionReview struct {
	envelope
	validation  *Validation
	request     admissionv1.AdmissionRequest
	object, old json.RawMessage
	// excess is set if the spec is too large to decode.
	excess *limits.ExcessError
}

func (v *Validation) read(body []byte) (Review, error) {
	in := &admissionReview{validation: v}
	err := in.read(body, map[string]any{
		"uid": &in.request.UID, "kind": &in.request.Kind, "requestKind": &in.request.RequestKind,
		"namespace": &in.request.Namespace, "name": &in.request.Name, "object": &in.object, "oldObject": &in.old,
	})
	if err != nil || in.apiVersion != admissionv1.SchemeGroupVersion.String() || in.kind != "AdmissionReview" ||
		!in.requested {
		return nil, fmt.Errorf("expected an AdmissionReview of %s with a request", admissionv1.SchemeGroupVersion)
	}
	if err := in.removeLargeSpecs(); err != nil {
		return nil, err
	}
	return in, nil
}

func (in *admissionReview) Memory() int64 {
	return memoryOf(in.object, typedItemMemory) + memoryOf(in.old, typedItemMemory)
}

func (in *admissionReview) Result(ctx context.Context) ([]byte, error) {
	if in.excess != nil {
		return in.respond(rejectTooLarge(&in.request, in.excess))
	}
	return in.respond(in.validate(ctx))
}

// Reject rejects the request as too large. v1alpha1 requests are admitted with a warning.
func (in *admissionReview) Reject(reason string) ([]byte, error) {
	if requestVersion(&in.request) == v1alpha2.OriginV1alpha1 {
		return in.respond(&admissionv1.AdmissionResponse{Allowed: true, Warnings: []string{reason}})
	}
	status := apierrors.NewRequestEntityTooLargeError(reason).Status()
	return in.respond(&admissionv1.AdmissionResponse{Result: &status})
}

func (in *admissionReview) respond(response *admissionv1.AdmissionResponse) ([]byte, error) {
	response.UID = in.request.UID
	return json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: in.apiVersion, Kind: in.kind}, Response: response,
	})
}

// validate validates the request. Objects that cannot be decoded are admitted; the controller reports them.
func (in *admissionReview) validate(ctx context.Context) *admissionv1.AdmissionResponse {
	admitted := &admissionv1.AdmissionResponse{Allowed: true}
	validated := &admission.Request{Version: requestVersion(&in.request)}
	var err error
	if validated.New, err = decode(in.object); err == nil {
		validated.Old, err = decode(in.old)
	}
	if err != nil || validated.New == nil || !validated.ChangesSpec() {
		return admitted
	}
	validated.New.Namespace = in.request.Namespace
	ctx, cancel := context.WithTimeout(ctx, validationTimeout)
	defer cancel()
	result := in.validation.result(ctx, validated)
	if len(result.Errors) == 0 {
		admitted.Warnings = result.Warnings
		return admitted
	}
	kind := schema.GroupKind{Group: in.request.Kind.Group, Kind: in.request.Kind.Kind}
	status := apierrors.NewInvalid(kind, validated.New.Name, result.Errors).Status()
	return &admissionv1.AdmissionResponse{Result: &status, Warnings: result.Warnings}
}

func requestVersion(request *admissionv1.AdmissionRequest) string {
	if request.RequestKind != nil {
		return request.RequestKind.Version
	}
	return request.Kind.Version
}

// decode decodes an object; it returns nil for null or empty input.
func decode(raw []byte) (*v1alpha2.LlamaStackDistribution, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := json.Unmarshal(raw, cr); err != nil {
		return nil, err
	}
	if cr.APIVersion != v1alpha2.GroupVersion.String() {
		return nil, fmt.Errorf("unexpected apiVersion %s", cr.APIVersion)
	}
	return cr, nil
}
