// SPDX-License-Identifier: Apache-2.0

package document

import "testing"

// Proves: R9 (effective ids), R13 (conditional and env-valued ids as the server treats them).
func TestIdentity(t *testing.T) {
	for raw, want := range map[string]Identity{
		"vllm":                       {ID: "vllm", Presence: Unconditional},
		"${env.VLLM_URL:+vllm}":      {ID: "vllm", Presence: Conditional},
		"${env.ID:=vllm}":            {ID: "vllm", Presence: Conditional},
		"${env.ID}":                  {Presence: Unknown},
		"${env.ID:=}":                {Presence: Unknown},
		"${env.ID:=__disabled__}":    {Presence: Unknown},
		"${env.ID:+}":                {},
		"a-${env.ID}":                {Presence: Unknown},
		"${env.lower:+vllm}":         {ID: "${env.lower:+vllm}", Presence: Unconditional},
		"${env.A:+a}${env.B:+b}":     {Presence: Unknown},
		"__disabled__":               {},
		"":                           {},
		"${env.VLLM_URL:+vllm}-more": {Presence: Unknown},
	} {
		want.Raw = raw
		if got := IdentityOf(String(raw)); got != want {
			t.Errorf("IdentityOf(%q) = %+v, want %+v", raw, got, want)
		}
	}
	if got := IdentityOf(nil); got != (Identity{}) {
		t.Errorf("IdentityOf(nil) = %+v", got)
	}
}

// Proves: R36, R37 (a provider that the environment enables is taken only where that is sure).
func TestVariablesEnable(t *testing.T) {
	given := Variables{"GIVEN": true}
	for raw, want := range map[string]bool{
		"plain": true, "${env.GIVEN:+id}": true, "${env.OTHER:+id}": false, "${env.OTHER:=id}": true, "${env.GIVEN:=id}": false,
		"${env.GIVEN}": false, "": false, DisabledID: false, "a-${env.GIVEN}": false,
	} {
		id := IdentityOf(String(raw))
		if got := given.Enables(id); got != want || len(given.Enabled([]Identity{id})) == 1 != want {
			t.Errorf("%q is enabled: %v, want %v", raw, got, want)
		}
	}
}
