// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

func TestForbidListsRestrictions(t *testing.T) {
	for text, want := range map[string][]settings.Restriction{
		"":                                      nil,
		"[]":                                    nil,
		"- commandAndArgs\n- hostPathVolumes\n": {settings.ForbidCommandAndArgs, settings.ForbidHostPathVolumes},
		"[hostPathVolumes, foreignServiceAccounts, ingressWithoutHostname, commandAndArgs, externalProviders, codeVariables, mountsOverImage, exposeAnnotations]": settings.Restrictions(),
	} {
		if got := parse(t, map[string]string{settings.KeyForbid: text}).Forbidden; !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := parse(t, nil).Forbidden; len(got) != 0 {
		t.Errorf("without settings %q are forbidden", got)
	}
}

// A misspelled restriction is an error, or it would allow what it should forbid.
func TestForbidRefusesUnknownNames(t *testing.T) {
	const where = "ConfigMap llama-stack-operator-config, key forbid"
	for text, want := range map[string]string{
		"- hostPathVolume":             where + `[0]: Unsupported value: "hostPathVolume": did you mean "hostPathVolumes"? known names: hostPathVolumes, `,
		"- hostPathVolumes\n- command": where + `[1]: Unsupported value: "command"`,
		"- HostPathVolumes":            where + `[0]: Unsupported value: "HostPathVolumes": did you mean "hostPathVolumes"?`,
		"hostPathVolumes":              where + ": not a YAML list of names such as hostPathVolumes: ",
		"hostPathVolumes: true":        where + ": not a YAML list of names such as hostPathVolumes: ",
		"- [hostPathVolumes]":          where + ": not a YAML list of names such as hostPathVolumes: ",
		"- null":                       where + `[0]: Unsupported value: ""`,
	} {
		_, err := settings.Parse(map[string]string{settings.KeyForbid: text})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, want %s…", text, err, want)
		}
	}
}
