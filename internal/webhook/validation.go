// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
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
	// maxAdmissionReview bounds what is read for one review: the new and the old object, of which the API server stores none above
	// 1.5 MiB.
	maxAdmissionReview = 16 << 20
	// askTimeout bounds how long the API server is asked; it is below the timeoutSeconds of the configuration, so that what needs no
	// asking is said in any case.
	askTimeout = 2 * time.Second
)

// Validation answers AdmissionReviews for LlamaStackDistributions. It is an HTTP handler.
type Validation struct {
	// Gather reads what the resource is judged by.
	Gather func(context.Context, *v1alpha2.LlamaStackDistribution) (*desired.Inputs, fault.List)
}

// ServeHTTP answers one review.
func (v *Validation) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxAdmissionReview))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, fmt.Sprintf("the review is larger than %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the review could not be read", http.StatusBadRequest)
		return
	}
	var review admissionv1.AdmissionReview
	kind := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")
	if err := json.Unmarshal(body, &review); err != nil || review.Request == nil || review.GroupVersionKind() != kind {
		http.Error(w, fmt.Sprintf("want an AdmissionReview of %s with a request", admissionv1.SchemeGroupVersion), http.StatusBadRequest)
		return
	}
	review.Response = v.answer(r.Context(), review.Request)
	review.Response.UID, review.Request = review.Request.UID, nil
	answer, err := json.Marshal(review)
	if err != nil {
		http.Error(w, "the answer cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // who does not wait for the answer asks again
}

// answer judges one request. What cannot be read as the type is admitted: the schema has admitted it, and the controller will
// tell what it makes of it.
func (v *Validation) answer(ctx context.Context, request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	admitted := &admissionv1.AdmissionResponse{Allowed: true}
	judged := &admission.Request{Version: request.Kind.Version}
	if request.RequestKind != nil {
		judged.Version = request.RequestKind.Version
	}
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
	result := admission.Judge(judged, in, faults)
	if len(result.Errors) == 0 {
		admitted.Warnings = result.Warnings
		return admitted
	}
	status := apierrors.NewInvalid(schema.GroupKind{Group: request.Kind.Group, Kind: request.Kind.Kind}, judged.New.Name, result.Errors).Status()
	return &admissionv1.AdmissionResponse{Result: &status, Warnings: result.Warnings}
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
