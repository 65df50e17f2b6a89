// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kjson "sigs.k8s.io/json"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
)

// ConversionPath is where conversion is served; the CustomResourceDefinition names it.
const ConversionPath = "/convert"

// maxReview bounds what is read for one review. The API server stores no object above 1.5 MiB, and converts one at a time
// when it reads from the store.
const maxReview = 64 << 20

// Conversion answers ConversionReviews. It is an HTTP handler without state.
type Conversion struct{}

// ServeHTTP answers one review. What is no review is refused; everything else is answered in the review.
func (Conversion) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, fmt.Sprintf("the review is larger than %d bytes", tooLarge.Limit), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, "the review could not be read", http.StatusBadRequest)
		return
	}
	answer, err := convertReview(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // who does not wait for the answer asks again
}

// review is a ConversionReview whose objects stay JSON trees. (The type of the API keeps them as bytes.)
type review struct {
	APIVersion string    `json:"apiVersion"`
	Kind       string    `json:"kind"`
	Request    *request  `json:"request,omitempty"`
	Response   *response `json:"response,omitempty"`
}

type request struct {
	UID               string           `json:"uid"`
	DesiredAPIVersion string           `json:"desiredAPIVersion"`
	Objects           []map[string]any `json:"objects"`
}

type response struct {
	UID              string           `json:"uid"`
	ConvertedObjects []map[string]any `json:"convertedObjects"`
	Result           result           `json:"result"`
}

type result struct {
	Status  string `json:"status"`
	Message string `json:"message,omitempty"`
}

// convertReview answers a review. Integers stay integers, however large, as the API server itself reads them.
func convertReview(body []byte) ([]byte, error) {
	var in review
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &in); err != nil {
		return nil, fmt.Errorf("no ConversionReview: %w", err)
	}
	if in.APIVersion != apiextensionsv1.SchemeGroupVersion.String() || in.Kind != "ConversionReview" || in.Request == nil {
		return nil, fmt.Errorf("want a ConversionReview of %s with a request, got apiVersion %q, kind %q", apiextensionsv1.SchemeGroupVersion, in.APIVersion, in.Kind)
	}
	out := review{APIVersion: in.APIVersion, Kind: in.Kind, Response: &response{
		UID: in.Request.UID, ConvertedObjects: make([]map[string]any, 0, len(in.Request.Objects)), Result: result{Status: "Success"},
	}}
	for _, object := range in.Request.Objects {
		converted, err := v1alpha1.Convert(object, in.Request.DesiredAPIVersion)
		if err != nil { // a version of another API: no object of this one can bring it about
			out.Response.ConvertedObjects, out.Response.Result = nil, result{Status: "Failure", Message: err.Error()}
			break
		}
		out.Response.ConvertedObjects = append(out.Response.ConvertedObjects, converted)
	}
	return json.Marshal(out)
}
