// SPDX-License-Identifier: Apache-2.0

package objects

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Object is a Kubernetes object with metadata.
type Object interface {
	metav1.Object
	runtime.Object
}
