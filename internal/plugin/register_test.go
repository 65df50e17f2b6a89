// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const inHouseImage = "registry.example.com/ai/server:0.7.1-3"

// registers runs register, which must succeed, and returns the ConfigMap. Its registration must be valid and usable.
func registers(t *testing.T, args ...string) (_ *corev1.ConfigMap, notes string) {
	t.Helper()
	r := run(t, "", append([]string{"register", "--name", "rh-dev"}, args...)...)
	cm := &corev1.ConfigMap{}
	if err := yaml.UnmarshalStrict([]byte(r.out), cm); r.code != cli.ExitOK || err != nil {
		t.Fatalf("%v: exit code %d, %v:\n%s%s", args, r.code, err, r.out, r.err)
	}
	file, warnings := write(t, r.out), ""
	for line := range strings.Lines(r.err) {
		if strings.HasPrefix(line, "warning: ") {
			warnings += file + ": " + line
		} else {
			notes += line
		}
	}
	if checked := run(t, "", "validate", "--settings", file); checked.code != cli.ExitOK || checked.out != warnings {
		t.Errorf("%v: validate reports %q, register %q:\n%s", args, checked.out, warnings, r.out)
	}
	used := run(t, "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: a}\n"+
		"spec: {distribution: {name: rh-dev}, workload: {storage: {}}}", "render", "-f", "-", "-o", "yaml", "--settings", file)
	if used.code != cli.ExitOK || !strings.Contains(used.out, "image: "+cm.Data["image"]+"\n") || !strings.Contains(used.out, "mountPath: "+cm.Data["mountPath"]+"\n") {
		t.Errorf("%v: exit code %d, the server of a custom resource:\n%s%s", args, used.code, used.out, used.err)
	}
	return cm, notes
}

// Proves: R81 (the ConfigMap has what the labels of the image have, as the operator reads them).
func TestRegisterPrintsTheRegistrationOfAnImage(t *testing.T) {
	for name, content := range map[string]string{"label": smallBase, "layer": smallBase + "# " + strings.Repeat("x", 60_000) + "\n"} {
		t.Run(name, func(t *testing.T) {
			reference := imageSite(t, randomImage(t))
			mustRun(t, "", "label", reference, "--config", file(t, content), "--server-version", "0.7.1", "--push", "--plain-http")
			cm, notes := registers(t, reference, "--plain-http")
			if cm.Name != "distribution-rh-dev" || cm.Namespace != framework.OperatorNamespace || cm.Labels["llamastack.io/distribution"] != "rh-dev" {
				t.Errorf("%+v", cm.ObjectMeta)
			}
			if cm.Data["image"] != reference || cm.Data["serverVersion"] != "0.7.1" || cm.Data["config.yaml"] != content || cm.Data["mountPath"] != "/.llama" || notes != "" {
				t.Errorf("%v\n%s", cm.Data, notes)
			}
		})
	}
	t.Run("package", func(t *testing.T) {
		host, _, _ := strings.Cut(imageSite(t, imageWith(t, nil, packageLayer(t, "ogx", "1.4.1"))), "/")
		r := run(t, "", "register", "--name", "rh-dev", host+"/team/server:1", "--plain-http")
		if r.code != cli.ExitOK || !strings.Contains(r.out, "  serverVersion: 1.4.1\n") || strings.Contains(r.out, "config.yaml") ||
			r.err != "note: the labels of the image have no configuration, so the spec can change nothing in it: pass its config.yaml with --config\n" {
			t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
		}
	})
	t.Run("unknown release", func(t *testing.T) {
		reference := imageSite(t, imageWith(t, map[string]string{oci.LabelConfigBase64: "dmVyc2lvbjogMgphcGlzOiBbaW5mZXJlbmNlXQpwcm92aWRlcnM6IHtpbmZlcmVuY2U6IFtdfQo="}))
		r := run(t, "", "register", "--name", "rh-dev", reference, "--plain-http")
		if r.code != cli.ExitOK || strings.Contains(r.out, "serverVersion") || !strings.Contains(r.err, "note: nothing names the release of the server: set it with --server-version\n") {
			t.Errorf("exit code %d:\n%s%s", r.code, r.out, r.err)
		}
	})
}

// Proves: R81 (no registry is asked if file and flags have everything).
func TestRegisterPrintsTheRegistrationOfAConfiguration(t *testing.T) {
	const platform = "version: 2\napis: [inference]\nproviders: {inference: []}\nstorage: {backends: {kv_default: {type: kv_sqlite, db_path: '${env.X:=/opt/app-root/src/.llama/distributions/rh}/kv.db'}, " +
		"sql_default: {type: sql_sqlite, db_path: /opt/app-root/src/.llama/sql.db}}, stores: {}}\nnote: ~/.llama\n"
	for name, c := range map[string]struct {
		config string
		args   []string
		want   map[string]string
		note   string
	}{
		"with its image":         {smallBase, []string{"--image", inHouseImage}, map[string]string{"image": inHouseImage, "serverVersion": "0.7.1-3", "mountPath": "/.llama"}, ""},
		"another release":        {smallBase, []string{"--image", "registry.example.com/ai/server:v9x", "--server-version", "1.4.0"}, map[string]string{"serverVersion": "1.4.0"}, ""},
		"with another home":      {platform, []string{"--image", inHouseImage}, map[string]string{"mountPath": "/opt/app-root/src/.llama"}, ""},
		"with a path":            {platform, []string{"--image", inHouseImage, "--mount-path", "/data"}, map[string]string{"mountPath": "/data"}, ""},
		"of OGX":                 {smallBase + "x: ['~/.ogx/a', '${env.A:=~/.ogx}', /srv/.ogx-cache]\n", []string{"--image", inHouseImage}, map[string]string{"mountPath": "/.ogx"}, ""},
		"without an image":       {smallBase, nil, map[string]string{"image": "docker.io/ogxai/distribution-starter:1.5.0", "serverVersion": "1.5.0"}, "note: no --image: the image of the built-in distribution starter is used: docker.io/ogxai/distribution-starter:1.5.0\n"},
		"of a release, no image": {smallBase, []string{"--server-version", "0.7.1"}, map[string]string{"image": "docker.io/ogxai/distribution-starter:0.7.1"}, "note: no --image: "},
		"in another namespace":   {smallBase, []string{"--image", inHouseImage, "--operator-namespace", "apps"}, map[string]string{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			cm, notes := registers(t, append([]string{file(t, c.config)}, c.args...)...)
			for key, want := range c.want {
				if cm.Data[key] != want {
					t.Errorf("%s is %q, want %q", key, cm.Data[key], want)
				}
			}
			if cm.Data["config.yaml"] != c.config || !strings.HasPrefix(notes, c.note) || c.note == "" && notes != "" || (cm.Namespace == "apps") != (name == "in another namespace") {
				t.Errorf("%+v\n%s", cm, notes)
			}
		})
	}
	cm, _ := registers(t, inHouseImage, "--config", file(t, smallBase))
	if cm.Data["image"] != inHouseImage || cm.Data["config.yaml"] != smallBase {
		t.Errorf("%v", cm.Data)
	}
	if r := run(t, smallBase, "register", "-", "--image", inHouseImage, "--name", "a_b"); r.code != cli.ExitOK || !strings.Contains(r.out, "name: distribution-a-b\n") {
		t.Errorf("from standard input: exit code %d:\n%s%s", r.code, r.out, r.err)
	}
	if catalog.Newest() != "1.5" {
		t.Error("the cases name release line 1.5 as the newest one")
	}
}

// Proves: R81, NFR-004 (nothing is printed for what the operator would reject).
func TestRegisterRejectsWhatTheOperatorRejects(t *testing.T) {
	right := file(t, smallBase)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{cli.ExitFailure, "a name must consist of lower-case letters", []string{right, "--image", inHouseImage, "--name", "RH"}},
		{cli.ExitFailure, `config.yaml:3:81: providers.inference[0].provider_type: the server does not start with this`, []string{file(t, strings.Replace(smallBase, "inference: []", `inference: [{provider_id: averyveryveryverylongname, provider_type: "remote::vlm"}]`, 1)), "--image", inHouseImage, "--name", "rh"}},
		{cli.ExitFailure, "config.yaml: base configuration rh: not YAML: line 1", []string{file(t, "version: ["), "--image", inHouseImage, "--name", "rh"}},
		{cli.ExitFailure, `mountPath: Invalid value: "data": must be an absolute path`, []string{right, "--image", inHouseImage, "--name", "rh", "--mount-path", "data"}},
		{cli.ExitFailure, "absent.yaml: no such file", []string{"absent.yaml", "--image", inHouseImage, "--name", "rh"}},
		{cli.ExitFailure, "127.0.0.1:1/x:1", []string{"127.0.0.1:1/x:1", "--plain-http", "--name", "rh"}},
		{cli.ExitFailure, `--server-version: Unsupported value: "0.1.0": distribution starter has no such release: it has`, []string{right, "--server-version", "0.1.0", "--name", "rh"}},
		{cli.ExitUsage, `required flag(s) "name" not set`, []string{right}},
		{cli.ExitUsage, "--image: IMAGE is given as an argument already", []string{inHouseImage, "--image", inHouseImage, "--name", "rh"}},
		{cli.ExitUsage, "--config: the file is given as an argument already", []string{right, "--config", right, "--name", "rh"}},
		{cli.ExitUsage, `--server-version: "nightly" is not a release such as 1.5.0`, []string{right, "--server-version", "nightly", "--name", "rh"}},
	} {
		if r := run(t, "", append([]string{"register"}, c.args...)...); r.code != c.code || r.out != "" || !strings.Contains(r.err, c.want) {
			t.Errorf("%v: exit code %d, want %d and %q:\n%s%s", c.args, r.code, c.code, c.want, r.out, r.err)
		}
	}
}
