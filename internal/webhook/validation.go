// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/admission"
	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/fault"
)

// ValidationPath is where validation is served; the ValidatingWebhookConfiguration names it.
const ValidationPath = "/validate"

const (
	// maxAdmissionReview is the largest review of admission that is read, in bytes. It holds the new and the old object, of which the
	// API server stores none above 1.5 MiB.
	maxAdmissionReview = 4 << 20
	// admissionWait is how long a request waits for its turn, and askTimeout how long the API server is asked. Together they are
	// below the timeoutSeconds of the configuration, so that what needs no asking is said in any case.
	admissionWait = time.Second
	askTimeout    = 1500 * time.Millisecond
)

// Validation answers AdmissionReviews for LlamaStackDistributions.
type Validation struct {
	// Gather reads what the resource is judged by.
	Gather func(context.Context, *v1alpha2.LlamaStackDistribution) (*desired.Inputs, fault.List)
}

// Review is the review that the Validation answers.
func (v *Validation) Review() Review {
	return Review{Path: ValidationPath, MaxBytes: maxAdmissionReview, Wait: admissionWait, Answer: v.review}
}

// review answers one review.
func (v *Validation) review(ctx context.Context, body []byte) ([]byte, error) {
	var review admissionv1.AdmissionReview
	kind := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")
	body, tooLarge := cutTooLarge(body)
	if err := json.Unmarshal(body, &review); err != nil || review.Request == nil || review.GroupVersionKind() != kind {
		return nil, fmt.Errorf("want an AdmissionReview of %s with a request", admissionv1.SchemeGroupVersion)
	}
	if tooLarge == nil {
		review.Response = v.answer(ctx, review.Request)
	} else {
		review.Response = refuseTooLarge(review.Request, tooLarge)
	}
	review.Response.UID, review.Request = review.Request.UID, nil
	return json.Marshal(review)
}

// answer judges one request. What cannot be read as the type is admitted: the schema has admitted it, and the controller will
// tell what it makes of it.
func (v *Validation) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	admitted := &admissionv1.AdmissionResponse{Allowed: true}
	judged := &admission.Request{Version: requestVersion(request)}
	var err error
	if judged.New, err = read(request.Object.Raw); err == nil {
		judged.Old, err = read(request.OldObject.Raw)
	}
	if err != nil || judged.New == nil || !judged.Needed() {
		return admitted
	}
	judged.New.Namespace = request.Namespace
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	in, faults := v.Gather(ctx, judged.New)
	result := admission.Judge(ctx, judged, in, faults)
	if len(result.Errors) == 0 {
		admitted.Warnings = result.Warnings
		return admitted
	}
	status := apierrors.NewInvalid(schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind}, judged.New.Name, result.Errors).Status()
	return &admissionv1.AdmissionResponse{Result: &status, Warnings: result.Warnings}
}

// requestVersion is the version of the API in which the request was made.
func requestVersion(request *admissionv1.AdmissionRequest) string {
	if request.RequestKind != nil {
		return request.RequestKind.Version
	}
	return request.Kind.Version
}

// read reads an object; nothing gives none.
func read(raw []byte) (*v1alpha2.LlamaStackDistribution, error) {
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
