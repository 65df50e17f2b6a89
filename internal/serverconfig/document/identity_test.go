// SPDX-License-Identifier: Apache-2.0

package document

import "testing"

// Proves: R9, R13 (conditional ids and ids from variables are treated as in the server).
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

// Proves: R36, R37 (a provider counts as enabled only if the environment certainly enables it).
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
