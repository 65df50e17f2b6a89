// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// resources checks requests and limits. A request may not exceed its limit, and equals it if pods cannot share the
// resource.
func (c *check) resources(r *corev1.ResourceRequirements, at *field.Path) {
	c.quantities(r.Requests, at.Child("requests"))
	c.quantities(r.Limits, at.Child("limits"))
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request := r.Requests[name]
		limit, limited := r.Limits[name]
		path := at.Child("requests").Key(string(name))
		switch {
		case limited && request.Cmp(limit) > 0:
			c.invalid(path, request.String(), "is above the limit "+limit.String(), "lower it, or raise the limit")
		case limited && request.Cmp(limit) != 0 && !isShared(name):
			detail := fmt.Sprintf("differs from the limit %s, but %s cannot be overcommitted", limit.String(), name)
			c.invalid(path, request.String(), detail,
				"use the same value for both")
		}
	}
}

func (c *check) quantities(list corev1.ResourceList, at *field.Path) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		amount, path := list[name], at.Key(string(name))
		switch known := isNative(name); {
		case len(validation.IsQualifiedName(string(name))) > 0, !known && !strings.Contains(string(name), "/"):
			c.add(at, field.ErrorTypeNotSupported, string(name), "is not a resource of containers",
				"use cpu, memory, ephemeral-storage, or a resource of the form example.com/gpu")
		case amount.Sign() < 0:
			c.invalid(path, amount.String(), "must not be negative", "")
		case !known && amount.MilliValue()%1000 != 0:
			c.invalid(path, amount.String(), "must be a whole number", "")
		}
	}
}

// isShared reports whether the request of a resource may be below its limit.
func isShared(name corev1.ResourceName) bool {
	return isNative(name) && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isNative reports whether Kubernetes itself defines the resource.
func isNative(name corev1.ResourceName) bool {
	return name == corev1.ResourceCPU || name == corev1.ResourceMemory || name == corev1.ResourceEphemeralStorage ||
		strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}
