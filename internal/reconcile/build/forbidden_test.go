// SPDX-License-Identifier: Apache-2.0

package build

import (
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Proves: R19 (a restriction forbids only its own fields, and the message names the field, the setting and the fix).
func TestBuildRejectsFieldsForbiddenBySettings(t *testing.T) {
	const volumes = "workload: {overrides: {volumes: [{name: ok, emptyDir: {}}, {name: host, hostPath: {path: /}}]}}"
	for name, c := range map[string]struct {
		sections    string
		restriction settings.Restriction
		want        []string // one for each error
	}{
		"hostPath volume": {
			volumes, settings.ForbidHostPathVolumes, []string{"spec.workload.overrides.volumes[1].hostPath: Forbidden: "},
		},
		"foreign ServiceAccount": {
			"workload: {overrides: {serviceAccountName: builder}}", settings.ForbidForeignServiceAccounts,
			[]string{"spec.workload.overrides.serviceAccountName: Forbidden: "},
		},
		"a ServiceAccount with the derived name": {
			"workload: {overrides: {serviceAccountName: plain-stack-sa}}", settings.ForbidForeignServiceAccounts,
			[]string{"spec.workload.overrides.serviceAccountName: Forbidden: "},
		},
		"command": {
			"workload: {overrides: {command: [sh]}}", settings.ForbidCommandAndArgs, []string{"spec.workload.overrides.command: Forbidden: "},
		},
		"containers": {
			"workload: {overrides: {sidecars: [{name: a, image: b}], initContainers: [{name: c, image: d}]}}", settings.ForbidCommandAndArgs,
			[]string{"spec.workload.overrides.sidecars: Forbidden: ", "spec.workload.overrides.initContainers: Forbidden: "},
		},
		"command and args": {
			"workload: {overrides: {command: [sh], args: [-c, id]}}", settings.ForbidCommandAndArgs,
			[]string{"spec.workload.overrides.command: Forbidden: ", "spec.workload.overrides.args: Forbidden: "},
		},
		"variables of Python and of the configuration": {
			"workload: {overrides: {env: [{name: A}, {name: PYTHONPATH, value: /mnt}, {name: PYTHONUNBUFFERED, value: x}, {name: RUN_CONFIG_PATH}]}}",
			settings.ForbidCodeVariables, []string{"spec.workload.overrides.env[1]: Forbidden: ", "spec.workload.overrides.env[3]: Forbidden: "},
		},
		"any variables": {
			"workload: {overrides: {envFrom: [{configMapRef: {name: a}}]}}", settings.ForbidCodeVariables, []string{"spec.workload.overrides.envFrom[0]: Forbidden: "},
		},
		"a module of Python": {
			"workload: {overrides: {volumes: [{name: v, emptyDir: {}}], volumeMounts: [{name: v, mountPath: /mnt/v}, {name: v, mountPath: /dev/shm}, " +
				"{name: v, mountPath: /mnt/../.local/lib/python3.12/site-packages/usercustomize.py}, {name: v, mountPath: mnt}, {name: v, mountPath: /mnt-x}]}}",
			settings.ForbidMountsOverImage, []string{"spec.workload.overrides.volumeMounts[2].mountPath: Forbidden: ", "spec.workload.overrides.volumeMounts[4].mountPath: Forbidden: "},
		},
		"data over the image": {
			"workload: {storage: {mountPath: /usr/local/lib}}", settings.ForbidMountsOverImage, []string{"spec.workload.storage.mountPath: Forbidden: "},
		},
		"expose: true": {
			"networking: {expose: true}", settings.ForbidIngressWithoutHostname, []string{"spec.networking.expose: Forbidden: "},
		},
		"expose: {}": {
			"networking: {expose: {}}", settings.ForbidIngressWithoutHostname, []string{"spec.networking.expose: Forbidden: "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range settings.Restrictions() {
				in := sampleWith(t, "distribution-only", c.sections)
				in.Forbidden = []settings.Restriction{r}
				if r != c.restriction {
					build(t, in)
					continue
				}
				d, faults := fail(t, in)
				if len(d.Objects) > 0 || len(faults) != len(c.want) {
					t.Fatalf("objects %v, faults %q, want %q", kinds(d.Objects), faults.Message(), c.want)
				}
				for i, f := range faults {
					if f.Class != problem.Terminal || f.Condition != v1alpha2.ConditionConfigGenerated || f.Reason != problem.ForbiddenBySettings {
						t.Errorf("fault %+v", f)
					}
					if !strings.HasPrefix(f.String(), c.want[i]) ||
						!strings.Contains(f.String(), string(r)+" in the key forbid of the ConfigMap llama-stack-operator-config") {
						t.Errorf("message %q, want %q and the setting", f.String(), c.want[i])
					}
				}
			}
		})
	}
}

// All restrictions together still allow the fields without a restriction.
func TestBuildAllowsTheRestWithEveryRestriction(t *testing.T) {
	in := sampleWith(t, "distribution-only", `
workload:
  overrides:
    serviceAccountName: ""
    command: []
    volumes: [{name: v, emptyDir: {}}]
    volumeMounts: [{name: v, mountPath: /mnt/v}]
    env: [{name: A, value: a}]
  storage: {mountPath: /.llama/}
networking:
  expose: {hostname: a.example}
`)
	in.Forbidden = settings.Restrictions()
	build(t, in)
	off := sampleWith(t, "distribution-only", "networking: {expose: {enabled: false}}")
	off.Forbidden = settings.Restrictions()
	build(t, off)
}
