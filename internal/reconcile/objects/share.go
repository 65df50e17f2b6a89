// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// Share is the share of a custom resource in the requests for a host name.
type Share struct {
	// Name is the custom resource, and Port that of its Service.
	Name   string
	Host   string
	Weight int32
	Port   int32
}

// annotation returns the value of AnnotationShare.
func (s *Share) annotation() string { return fmt.Sprintf("%s %d %d", s.Host, s.Weight, s.Port) }

// ShareOf returns the share in the AnnotationShare of a Deployment, if it has a valid one.
func ShareOf(o metav1.Object) (Share, bool) {
	s := Share{Name: o.GetLabels()[names.LabelInstance]}
	n, err := fmt.Sscanf(o.GetAnnotations()[names.AnnotationShare], "%s %d %d", &s.Host, &s.Weight, &s.Port)
	return s, err == nil && n == 3 && s.Name != "" && s.Weight >= 0 && s.Port > 0
}
