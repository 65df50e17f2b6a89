// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
)

// ConversionPath is where conversion is served; the CustomResourceDefinition names it.
const ConversionPath = "/convert"

const (
	// maxConversionReview is the largest review of conversion that is read, in bytes. API servers ask for one object at a time, also
	// for lists, and take none above 3 MiB; a review may hold several all the same.
	maxConversionReview = 16 << 20
	// conversionWait is how long a conversion waits for its turn. The API server has no limit of its own.
	conversionWait = 10 * time.Second
	// maxConverted is how many objects a review may hold. A body of nothing but commas would cost more in the list than in the body.
	maxConverted = 10_000
)

// Conversion answers ConversionReviews. It reads nothing but the review.
func Conversion() Review {
	return Review{Path: ConversionPath, MaxBytes: maxConversionReview, Wait: conversionWait, Answer: convertReview}
}

// convertReview answers a review. One object after the other is decoded, converted and encoded, so that a review of many objects
// costs little more memory than its text.
func convertReview(ctx context.Context, body []byte) ([]byte, error) {
	in, err := readConversionReview(body)
	if err != nil {
		return nil, fmt.Errorf("no ConversionReview: %w", err)
	}
	if in.apiVersion != apiextensionsv1.SchemeGroupVersion.String() || in.kind != "ConversionReview" || !in.requested {
		return nil, fmt.Errorf("want a ConversionReview of %s with a request, got apiVersion %.100q, kind %.100q",
			apiextensionsv1.SchemeGroupVersion, in.apiVersion, in.kind)
	}
	var converted bytes.Buffer
	converted.Grow(len(body) + len(body)/8)
	for i, text := range in.objects {
		if err := ctx.Err(); err != nil {
			return nil, err // nobody waits for the answer
		}
		target, err := v1alpha1.ConvertText(text, in.desired)
		if errors.Is(err, v1alpha1.ErrNotAnObject) {
			return nil, fmt.Errorf("no ConversionReview: object %d: %w", i, err)
		}
		if err != nil { // a version of another API: no object of this one can bring it about
			return conversionAnswer(in.uid, nil, metav1.Status{Status: metav1.StatusFailure, Message: err.Error()})
		}
		if i > 0 {
			converted.WriteByte(',')
		}
		converted.Write(target)
	}
	return conversionAnswer(in.uid, converted.Bytes(), metav1.Status{Status: metav1.StatusSuccess})
}

// conversionAnswer puts a review around objects that are encoded already.
func conversionAnswer(uid string, objects []byte, result metav1.Status) ([]byte, error) {
	quoted, err := json.Marshal(uid)
	if err != nil {
		return nil, err
	}
	outcome, err := json.Marshal(struct {
		Status  string `json:"status"`
		Message string `json:"message,omitempty"`
	}{result.Status, result.Message})
	if err != nil {
		return nil, err
	}
	return bytes.Join([][]byte{
		[]byte(`{"apiVersion":"` + apiextensionsv1.SchemeGroupVersion.String() + `","kind":"ConversionReview","response":{"uid":`), quoted,
		[]byte(`,"convertedObjects":[`), objects, []byte(`],"result":`), outcome, []byte(`}}`),
	}, nil), nil
}

// conversionReview is a ConversionReview whose objects are still texts: parts of the body.
type conversionReview struct {
	apiVersion, kind, uid, desired string
	requested                      bool
	objects                        [][]byte
}

// readConversionReview takes a review apart without decoding or copying its objects. An object may nest as deep as the API server
// lets it: what is around it does not count.
func readConversionReview(body []byte) (*conversionReview, error) {
	in := &conversionReview{}
	d := json.NewDecoder(bytes.NewReader(body))
	err := members(d, func(name string) error {
		switch name {
		case "apiVersion":
			return d.Decode(&in.apiVersion)
		case "kind":
			return d.Decode(&in.kind)
		case "request":
			in.requested = true
			return members(d, func(name string) error { return in.readRequest(d, name, body) })
		}
		return d.Decode(&skipped{})
	})
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows it")
	}
	return in, nil
}

func (in *conversionReview) readRequest(d *json.Decoder, name string, body []byte) error {
	switch name {
	case "uid":
		return d.Decode(&in.uid)
	case "desiredAPIVersion":
		return d.Decode(&in.desired)
	case "objects":
		if err := expect(d, json.Delim('[')); err != nil {
			return err
		}
		for d.More() {
			if len(in.objects) == maxConverted {
				return fmt.Errorf("more than %d objects", maxConverted)
			}
			var text skipped
			if err := d.Decode(&text); err != nil {
				return err
			}
			after := d.InputOffset()
			in.objects = append(in.objects, body[after-int64(text.length):after])
		}
		return expect(d, json.Delim(']'))
	}
	return d.Decode(&skipped{})
}

// members calls a function for each member of the object that comes next; the function reads the value.
func members(d *json.Decoder, member func(name string) error) error {
	if err := expect(d, json.Delim('{')); err != nil {
		return err
	}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return fmt.Errorf("%v is not the name of a member", token)
		}
		if err := member(name); err != nil {
			return err
		}
	}
	return expect(d, json.Delim('}'))
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err == nil && token != want {
		err = fmt.Errorf("%v stands where %v is wanted", token, want)
	}
	return err
}

// skipped is a value of which only the length is kept.
type skipped struct{ length int }

// UnmarshalJSON notes the length.
func (s *skipped) UnmarshalJSON(text []byte) error {
	s.length = len(text)
	return nil
}
