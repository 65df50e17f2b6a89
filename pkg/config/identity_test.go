// SPDX-License-Identifier: Apache-2.0

package config

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Taking a reference apart by hand finds what the pattern finds.
func TestWholeReference(t *testing.T) {
	whole := regexp.MustCompile(`^` + envPattern.String() + `$`)
	// Every text of up to three of these pieces, between the begin and the end of a reference and without them.
	pieces := []string{"", "A", "a", "_1", ":", "=", "+", ":=", ":+", "}", "{", "${env.", "\n", " x"}
	count := 0
	for _, one := range pieces {
		for _, two := range pieces {
			for _, three := range pieces {
				text := one + two + three
				for _, s := range []string{text, "${env." + text + "}", "${env.A" + text + "}", "${env.A:=" + text + "}", "${env.A:+" + text + "}}"} {
					if diff := cmp.Diff(whole.FindStringSubmatch(s), wholeReference(s)); diff != "" {
						t.Fatalf("%q (-pattern +by hand):\n%s", s, diff)
					}
					if wholeReference(s) != nil {
						count++
					}
				}
			}
		}
	}
	if count < 1000 {
		t.Errorf("%d references are among them", count)
	}
}
