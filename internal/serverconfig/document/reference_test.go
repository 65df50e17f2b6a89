// SPDX-License-Identifier: Apache-2.0

package document

import (
	"regexp"
	"testing"
)

// The hand-written parser of references agrees with the regular expression.
func TestWholeReference(t *testing.T) {
	whole := regexp.MustCompile(`^` + envPattern.String() + `$`)
	// Texts of up to three of these pieces, with and without the delimiters of a reference.
	pieces := []string{"", "A", "a", "_1", ":", "=", "+", ":=", ":+", "}", "{", "${env.", "\n", " x"}
	count := 0
	for _, one := range pieces {
		for _, two := range pieces {
			for _, three := range pieces {
				text := one + two + three
				for _, s := range []string{text, "${env." + text + "}", "${env.A" + text + "}", "${env.A:=" + text + "}", "${env.A:+" + text + "}}"} {
					var want Reference
					m := whole.FindStringSubmatch(s)
					if m != nil {
						want = Reference{Name: m[1], Operator: m[2], Value: m[3]}
						count++
					}
					if got, ok := WholeReference(s); got != want || ok != (m != nil) {
						t.Fatalf("%q is %+v, %v; the pattern finds %+v", s, got, ok, m)
					}
				}
			}
		}
	}
	if count < 1000 {
		t.Errorf("%d references are among them", count)
	}
}
