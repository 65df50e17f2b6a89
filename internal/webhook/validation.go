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

// ValidationPath is where validation is served; the ValidatingWebhookConfiguration names it.
const ValidationPath = "/validate"

const (
	// maxAdmissionReview is the largest review of admission that is read, in bytes. It holds the new and the old object,
	// of which the API server stores none above 1.5 MiB.
	maxAdmissionReview = 4 << 20
	// admissionWait is how long a request waits for its turn, and askTimeout how long validation takes, with the wait for
	// the operator's settings after a start. Together they are below the timeoutSeconds of the configuration.
	admissionWait = time.Second
	askTimeout    = 1500 * time.Millisecond
)

// Validation answers AdmissionReviews for LlamaStackDistributions.
type Validation struct {
	// Gather reads what the resource is validated by. It sends no request but for registrations that are new.
	Gather Gather
	// GatherLive asks the API server for it, before a resource is refused: it may use what was registered a moment ago.
	// Nil asks nobody.
	GatherLive Gather
}

// Gather reads what a resource is validated by.
type Gather func(context.Context, *v1alpha2.LlamaStackDistribution) (*build.Inputs, problem.List)

// result validates by what is known, or by what the API server knows where only that admits the resource.
func (v *Validation) result(ctx context.Context, request *admission.Request) admission.Result {
	facts, problems := v.Gather(ctx, request.New)
	result := admission.Validate(ctx, request, facts, problems)
	if len(result.Errors) == 0 || v.GatherLive == nil {
		return result
	}
	live, problems := v.GatherLive(ctx, request.New)
	if sameSettings(facts, live) {
		return result
	}
	return admission.Validate(ctx, request, live, problems)
}

// sameSettings reports whether the operator's settings mean the same for a resource. Why they have no distribution for
// it can differ: it is unknown, its registration is broken, or the API server did not answer.
func sameSettings(a, b *build.Inputs) bool {
	return a.Distribution != nil && reflect.DeepEqual(a.NetworkPolicyFlag, b.NetworkPolicyFlag) &&
		reflect.DeepEqual(a.Forbidden, b.Forbidden) &&
		slices.EqualFunc(a.Endpoints, b.Endpoints, func(a, b build.EndpointFact) bool {
			return a.Ref.Path == b.Ref.Path &&
				a.State == b.State
		}) &&
		reflect.DeepEqual(a.Distribution, b.Distribution) //nolint:govet // equal texts have equal errors
}

// Kind is the kind of review that the Validation answers.
func (v *Validation) Kind() Kind {
	return Kind{Path: ValidationPath, MaxBytes: maxAdmissionReview, Wait: admissionWait, ClientCertificates: true,
		Read: v.read}
}

// admissionReview holds the fields of an AdmissionReview that validation needs. The objects are not decoded.
type admissionReview struct {
	envelope
	validation  *Validation
	request     admissionv1.AdmissionRequest
	object, old json.RawMessage
	// excess is what is too large in the spec; nil where nothing is.
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
		return nil, fmt.Errorf("want an AdmissionReview of %s with a request", admissionv1.SchemeGroupVersion)
	}
	if err := in.cutTooLarge(); err != nil {
		return nil, err
	}
	return in, nil
}

// Memory is that of both objects.
func (in *admissionReview) Memory() int64 {
	return memoryOf(in.object, typedItemMemory) + memoryOf(in.old, typedItemMemory)
}

// Result validates the request.
func (in *admissionReview) Result(ctx context.Context) ([]byte, error) {
	if in.excess != nil {
		return in.respond(refuseTooLarge(&in.request, in.excess))
	}
	return in.respond(in.validate(ctx))
}

// Refuse answers that the request is not validated. What was made as v1alpha1 is admitted all the same, with a warning.
func (in *admissionReview) Refuse(reason string) ([]byte, error) {
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

// validate answers the request. What cannot be read as the type is admitted: the schema has admitted it, and the
// controller will know the result.
func (in *admissionReview) validate(ctx context.Context) *admissionv1.AdmissionResponse {
	admitted := &admissionv1.AdmissionResponse{Allowed: true}
	validated := &admission.Request{Version: requestVersion(&in.request)}
	var err error
	if validated.New, err = decode(in.object); err == nil {
		validated.Old, err = decode(in.old)
	}
	if err != nil || validated.New == nil || !validated.Needed() {
		return admitted
	}
	validated.New.Namespace = in.request.Namespace
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
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

// requestVersion is the version of the API in which the request was made.
func requestVersion(request *admissionv1.AdmissionRequest) string {
	if request.RequestKind != nil {
		return request.RequestKind.Version
	}
	return request.Kind.Version
}

// decode reads an object; nothing gives none.
func decode(raw []byte) (*v1alpha2.LlamaStackDistribution, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := json.Unmarshal(raw, cr); err != nil {
		return nil, err
	}
	if cr.APIVersion != v1alpha2.GroupVersion.String() {
		return nil, fmt.Errorf("apiVersion %s is not the one that the configuration asks for", cr.APIVersion)
	}
	return cr, nil
}
