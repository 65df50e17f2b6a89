// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
)

// ConversionPath is the path of the conversion webhook in the CRD.
const ConversionPath = "/convert"

const (
	// maxConversionReview is the size limit of a review, in bytes; API servers send one object of at most 3 MiB at a time.
	maxConversionReview = 16 << 20
	// conversionWait is how long a conversion may wait to be decoded.
	conversionWait = 10 * time.Second
	// maxConverted is the largest number of objects in a review; it bounds the memory of the list.
	maxConverted = 10_000
)

// Conversion returns the Kind for ConversionReviews.
func Conversion() Kind {
	return Kind{Path: ConversionPath, MaxBytes: maxConversionReview, Wait: conversionWait, Read: readConversion}
}

// conversion is a ConversionReview with undecoded objects.
type conversion struct {
	envelope
	uid, desired string
	objects      []json.RawMessage
	size         int
}

func readConversion(body []byte) (Review, error) {
	in := &conversion{size: len(body)}
	err := in.read(body, map[string]any{"uid": &in.uid, "desiredAPIVersion": &in.desired, "objects": in.readObjects})
	if err != nil {
		return nil, fmt.Errorf("not a ConversionReview: %w", err)
	}
	if in.apiVersion != apiextensionsv1.SchemeGroupVersion.String() || in.kind != "ConversionReview" || !in.requested {
		return nil, fmt.Errorf("expected a ConversionReview of %s with a request, got apiVersion %.100q, kind %.100q",
			apiextensionsv1.SchemeGroupVersion, in.apiVersion, in.kind)
	}
	return in, nil
}

func (in *conversion) readObjects(p decoder) error {
	if err := p.expect('['); err != nil {
		return err
	}
	for p.More() {
		if len(in.objects) == maxConverted {
			return fmt.Errorf("more than %d objects", maxConverted)
		}
		var text json.RawMessage
		if err := p.Decode(&text); err != nil {
			return err
		}
		in.objects = append(in.objects, text)
	}
	return p.expect(']')
}

// Memory returns the memory of the largest object: objects are converted one at a time.
func (in *conversion) Memory() int64 {
	var largest int64
	for _, text := range in.objects {
		largest = max(largest, memoryOf(text, treeItemMemory))
	}
	return largest
}

// Result converts the objects. Integers keep their precision.
func (in *conversion) Result(ctx context.Context) ([]byte, error) {
	var response bytes.Buffer
	response.Grow(in.size + in.size/8)
	if err := in.begin(&response); err != nil {
		return nil, err
	}
	for i, text := range in.objects {
		target, err := v1alpha1.ConvertText(ctx, text, in.desired)
		if ctxErr := ctx.Err(); ctxErr != nil {
			return nil, ctxErr // the client closed the connection
		}
		if errors.Is(err, v1alpha1.ErrNotAnObject) {
			return nil, fmt.Errorf("not a ConversionReview: object %d: %w", i, err)
		}
		if err != nil { // for example an unknown version
			return in.Reject(err.Error())
		}
		if i > 0 {
			response.WriteByte(',')
		}
		response.Write(target)
	}
	err := in.end(&response, "Success", "")
	return response.Bytes(), err
}

func (in *conversion) Reject(reason string) ([]byte, error) {
	var response bytes.Buffer
	if err := in.begin(&response); err != nil {
		return nil, err
	}
	err := in.end(&response, "Failure", reason)
	return response.Bytes(), err
}

func (in *conversion) begin(response *bytes.Buffer) error {
	uid, err := json.Marshal(in.uid)
	fmt.Fprintf(response, `{"apiVersion":%q,"kind":"ConversionReview","response":{"uid":%s,"convertedObjects":[`,
		apiextensionsv1.SchemeGroupVersion, uid)
	return err
}

func (*conversion) end(response *bytes.Buffer, status, message string) error {
	result, err := json.Marshal(struct {
		Status  string `json:"status"`
		Message string `json:"message,omitempty"`
	}{status, message})
	fmt.Fprintf(response, `],"result":%s}}`, result)
	return err
}
