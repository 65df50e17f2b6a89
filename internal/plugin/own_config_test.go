// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: US-6.1, R45 (the sample and its configuration are valid; the end-to-end tests run it).
func TestSampleWithAConfigurationOfItsOwnIsRight(t *testing.T) {
	const sample = samplesDir + "/override-config.yaml"
	if r := run(t, "", "validate", "-f", sample); r.code != cli.ExitOK || r.out != "" {
		t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
	}
	raw := framework.ReadFile(t, sample)
	text, _, _ := strings.Cut(string(raw), "\n---\n")
	var cm corev1.ConfigMap
	framework.NoError(t, yaml.UnmarshalStrict([]byte(text), &cm))
	if read, err := serverconfig.ReadOverride([]byte(cm.Data[names.ConfigKey])); err != nil || read.Version != 2 {
		t.Errorf("%+v, %v", read, err)
	}
}
