// SPDX-License-Identifier: Apache-2.0

package shard

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	// Flag is the operator's flag with the selector.
	Flag = "watch-label-selector"
	// maxSelector bounds a selector in bytes, because requests have it in their URL.
	maxSelector = 2 << 10

	// leasePrefix and leaseSuffix make release 0.9's Lease name, so that it never runs at the same time.
	leasePrefix, leaseSuffix = "54e06e98", ".llamastack.io"
	// hashBytes is the length of a selector's hash in its Lease's name.
	hashBytes = 8
)

// Parse parses the flag. It returns nil, for all custom resources, if the text is empty.
func Parse(text string) (labels.Selector, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil //nolint:nilnil // no selector is not an error
	}
	const fix = `write a label selector as kubectl takes it, such as "llamastack.io/shard=a" ` +
		`or "llamastack.io/shard notin (a,b)"`
	invalid := func(value, detail string) error {
		return field.Invalid(field.NewPath("--"+Flag), value, detail+": "+fix)
	}
	if len(text) > maxSelector {
		return nil, invalid(text[:64]+"…", fmt.Sprintf("has %d bytes, more than %d", len(text), maxSelector))
	}
	selector, err := labels.Parse(text)
	if err != nil {
		return nil, invalid(text, err.Error())
	}
	if requirements, _ := selector.Requirements(); len(requirements) == 0 {
		return nil, invalid(text, "has no requirement")
	}
	return selector, nil
}

// Lease returns the Lease's name for a selector, or for an operator without one if it is nil.
func Lease(selector labels.Selector) string {
	if selector == nil {
		return leasePrefix + leaseSuffix
	}
	sum := sha256.Sum256([]byte(canonical(selector)))
	return fmt.Sprintf("%s-%x%s", leasePrefix, sum[:hashBytes], leaseSuffix)
}

// aliases maps operators for one value to those for several.
var aliases = map[selection.Operator]selection.Operator{
	selection.Equals: selection.In, selection.DoubleEquals: selection.In, selection.NotEquals: selection.NotIn,
}

// canonical returns the same text for equivalent selectors, regardless of order and notation.
func canonical(selector labels.Selector) string {
	requirements, _ := selector.Requirements()
	var texts []string
	for _, r := range requirements {
		operator := r.Operator()
		if same, isAlias := aliases[operator]; isAlias {
			operator = same
		}
		values := slices.Compact(slices.Sorted(slices.Values(r.ValuesUnsorted())))
		texts = append(texts, fmt.Sprintf("%s %s %q", r.Key(), operator, values))
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "\n")
}
