// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// refusedBySize are parts of the messages with which etcd, or the API server's client of it, refuses an object that is too large. The API
// server passes them on as internal errors, and nothing else in its answer distinguishes them from errors that pass.
var refusedBySize = []string{"etcdserver: request is too large", "trying to send message larger than max"}

// TooLarge reports whether the API server refused an object because of its size: the request is above the API server's limit, or the stored
// object above that of etcd. Sending the same again does not help.
func TooLarge(err error) bool {
	if apierrors.IsRequestEntityTooLargeError(err) {
		return true
	}
	if reason := apierrors.ReasonForError(err); err == nil || reason != metav1.StatusReasonUnknown && reason != metav1.StatusReasonInternalError {
		return false
	}
	for _, text := range refusedBySize {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}
