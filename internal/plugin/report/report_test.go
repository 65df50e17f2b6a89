// SPDX-License-Identifier: Apache-2.0

package report

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// inSecret is the value of a Secret and looks like a word. inPlace begins values whose fields sound like a secret.
const (
	inSecret = "correct-horse-battery"
	inPlace  = "canary"
)

const spec = `
distribution: {name: starter}
providers: {inference: {provider: vllm, endpoint: "http://me:canary-1@vllm:8000", settings: {api_token: canary-2, note: "correct-horse-battery"}}}
workload: {overrides: {env: [{name: MY_PASSWORD, value: canary-3}, {name: KEEP, value: kept-value}]}}
`

const config = `providers: {inference: [{provider_id: vllm, config: {api_token: canary-4, base_url: "http://vllm:8000/v1", x: correct-horse-battery}}]}`

const serverLog = "INFO started kept-line\nAuthorization: Bearer canary-5-abcdefgh\nusing key correct-horse-battery here\n" +
	"url https://me:canary-6@host/\n{\"api_key\": \"canary-7\"}\n"

func world(t *testing.T) []client.Object {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", UID: "u1", Annotations: map[string]string{
		"kubectl.kubernetes.io/last-applied-configuration": `{"a": "canary-8"}`,
	}}}
	if err := yaml.Unmarshal([]byte(spec), &cr.Spec); err != nil {
		t.Fatal(err)
	}
	cr.Status.ConfigGeneration = &v1alpha2.ConfigGenerationStatus{ConfigMapName: "my-stack-config"}
	cr.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "X", Message: "the server said password=canary-9 and " + inSecret}}
	labeled := func(o client.Object, name string, labels map[string]string) client.Object {
		o.SetNamespace("ai")
		o.SetName(name)
		o.SetLabels(labels)
		return o
	}
	own := names.Selector("my-stack")
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Name: "llama-stack", Env: []corev1.EnvVar{
		{Name: "A", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "creds"}, Key: "token"}}},
		{Name: "SOME_TOKEN", Value: "canary-10"},
	}}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "llama-stack", RestartCount: 1}}
	operator := labeled(&corev1.Pod{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "manager"}}}}, "operator-1", map[string]string{"control-plane": "controller-manager"})
	operator.SetNamespace(settings.DefaultNamespace)
	return []client.Object{
		cr, labeled(&appsv1.Deployment{}, "my-stack", own), labeled(pod, "my-stack-abc", own), operator,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "creds"}, Data: map[string][]byte{"token": []byte(inSecret)}},
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack-config"}, Data: map[string]string{"config.yaml": config}},
		&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "e"}, InvolvedObject: corev1.ObjectReference{Name: "my-stack-abc"},
			Message: "kept-event token=canary-11",
		},
	}
}

// Proves: R7, NFR-003 (a report contains no Secret values and no values that look like a secret).
func TestReportHoldsNoSecret(t *testing.T) {
	files := packed(t, fakecluster.New(t, world(t)...))
	all := ""
	for name, text := range files {
		for _, canary := range []string{inSecret, inPlace, base64.StdEncoding.EncodeToString([]byte(inSecret))} {
			if strings.Contains(text, canary) {
				t.Errorf("%s holds %s:\n%s", name, canary, text)
			}
		}
		if strings.Contains(text, "kind: Secret") {
			t.Errorf("%s is a Secret", name)
		}
		all += name + "\n" + text
	}
	for _, kept := range []string{
		"kept-value", "kept-line", "kept-event", "http://vllm:8000/v1", "config.yaml", "resource.yaml", "objects/Deployment-my-stack.yaml", "pods/my-stack-abc-llama-stack.log",
		"pods/my-stack-abc-llama-stack-previous.log", "operator/operator-1-manager.log", "conditions.txt", "events.yaml", "secretKeyRef",
	} {
		if !strings.Contains(all, kept) {
			t.Errorf("%q is not in the report", kept)
		}
	}
	if !strings.Contains(files["report.txt"], "not read:\n  ConfigMap "+settings.DefaultNamespace) {
		t.Errorf("what could not be read is not named:\n%s", files["report.txt"])
	}
}

// An existing file is not overwritten, and only its owner can read the new file.
func TestReportWritesANewFile(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out.tar.gz")
	c := fakecluster.New(t, world(t)...)
	if text, code := run(t, c, "my-stack", "-f", target); code != cli.ExitOK || !strings.Contains(text, "Review them before you send them.") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if info, err := os.Stat(target); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if text, code := run(t, c, "my-stack", "-f", target); code != cli.ExitFailure || !strings.Contains(text, "file exists") {
		t.Errorf("exit code %d: %s", code, text)
	}
	if text, code := run(t, c, "nobody", "-f", target); code != cli.ExitFailure || !strings.Contains(text, `no LlamaStackDistribution "nobody"`) {
		t.Errorf("exit code %d: %s", code, text)
	}
}

// Proves: NFR-004 (the output lists the archive, its files and the objects that could not be read).
func TestReportPrintsForPrograms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "r.tar.gz")
	text, code := run(t, fakecluster.New(t, world(t)...), "my-stack", "-f", file, "-o", "yaml")
	for _, want := range []string{"archive: " + file + "\n", "\n- resource.yaml\n", "notRead:\n- "} {
		if code != cli.ExitOK || !strings.Contains(text, want) {
			t.Errorf("exit code %d, without %q:\n%s", code, want, text)
		}
	}
	if text, code := run(t, fakecluster.New(t, world(t)...), "my-stack", "-f", "-", "-o", "json"); code != cli.ExitFailure || !strings.Contains(text, "mutually exclusive") {
		t.Errorf("exit code %d: %s", code, text)
	}
}

func packed(t *testing.T, c client.WithWatch) map[string]string {
	t.Helper()
	text, code := run(t, c, "my-stack", "-f", "-")
	if code != cli.ExitOK {
		t.Fatalf("exit code %d: %s", code, text)
	}
	compressed, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(compressed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(header.Name, "my-stack-report/")] = string(content)
	}
}

func run(t *testing.T, c client.WithWatch, args ...string) (text string, code int) {
	t.Helper()
	var out bytes.Buffer
	streams := cli.Streams{Out: &out, Err: &out}
	cmd := New(streams, func(*cluster.Flags) (*cluster.Connection, error) {
		return &cluster.Connection{Client: c, Namespace: "ai", Logs: func(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(serverLog)), nil
		}}, nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	code = cli.Finish(cmd.ExecuteContext(t.Context()), streams, "")
	return out.String(), code
}

// secretNames gives each Secret reference of a pod, found by type and name, a unique name, and returns the names.
func secretNames(t *testing.T, value reflect.Value, path string) []string {
	t.Helper()
	var found []string
	switch value.Kind() { //nolint:exhaustive // a name is in one of these
	case reflect.Pointer:
		if value.IsNil() {
			value.Set(reflect.New(value.Type().Elem()))
		}
		return secretNames(t, value.Elem(), path)
	case reflect.Slice:
		if value.Type().Elem().Kind() == reflect.Struct {
			value.Set(reflect.MakeSlice(value.Type(), 1, 1))
			return secretNames(t, value.Index(0), path)
		}
	case reflect.Struct:
		for i := range value.NumField() {
			field := value.Type().Field(i)
			if !field.IsExported() || field.Type == reflect.TypeFor[metav1.Time]() || field.Type == reflect.TypeFor[resource.Quantity]() {
				continue
			}
			name := path + "-" + strings.ToLower(field.Name)
			isName := field.Type.Kind() == reflect.String && (field.Name == "SecretName" || field.Name == "Name" && strings.Contains(path, "secret"))
			isOptionalName := field.Type == reflect.TypeFor[*string]() && field.Name == "SecretName"
			switch {
			case isName:
				value.Field(i).SetString(name)
				found = append(found, name)
			case isOptionalName:
				value.Field(i).Set(reflect.ValueOf(&name))
				found = append(found, name)
			default:
				found = append(found, secretNames(t, value.Field(i), name)...)
			}
		}
	}
	return found
}

// Proves: R7, NFR-003 (Secrets of all containers, volumes and image pull secrets are hidden).
func TestReportHidesSecretsOfEachFieldOfAPod(t *testing.T) {
	var pod corev1.Pod
	secretsOfThePod := secretNames(t, reflect.ValueOf(&pod.Spec), "n")
	found := strings.Join(secretsOfThePod, " ")
	for _, want := range []string{
		"n-volumes-volumesource-projected-sources-secret-", "n-volumes-volumesource-secret-secretname", "-csi-nodepublishsecretref-name",
		"n-initcontainers-env-valuefrom-secretkeyref-", "n-initcontainers-envfrom-secretref-", "n-containers-env-", "-ephemeralcontainercommon-env-",
		"n-imagepullsecrets-name", "-azurefile-secretname",
	} {
		if !strings.Contains(found, want) {
			t.Errorf("no field of a pod is %s: %s", want, found)
		}
	}
	initial := world(t)
	for _, o := range initial {
		if p, ok := o.(*corev1.Pod); ok && p.Namespace == "ai" {
			containers := p.Spec.Containers
			p.Spec = pod.Spec
			p.Spec.Containers = append(p.Spec.Containers, containers...)
		}
	}
	inCustomResource := "distribution: {name: starter}\nproviders: {inference: {provider: openai, secretRefs: {api_key: {name: of-provider, key: k}}}}\n" +
		"workload: {overrides: {volumes: [{name: v, projected: {sources: [{secret: {name: of-volume}}]}}]}, imagePullSecrets: [{name: of-image}]}\n" +
		"networking: {tls: {enabled: true, secretName: of-tls}}\n"
	cr := initial[0].(*v1alpha2.LlamaStackDistribution)
	cr.Spec = v1alpha2.LlamaStackDistributionSpec{}
	if err := yaml.UnmarshalStrict([]byte(inCustomResource), &cr.Spec); err != nil {
		t.Fatal(err)
	}
	log := "INFO kept-line\n"
	secretsOfThePod = append(secretsOfThePod, "of-provider", "of-volume", "of-image", "of-tls")
	for i, name := range secretsOfThePod {
		value := fmt.Sprintf("horse%dbattery", i)
		log += "x " + value + " y\n"
		initial = append(initial, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: name}, Data: map[string][]byte{"k": []byte(value)}})
	}
	cr.Status.Conditions[0].Message = log
	files := packed(t, fakecluster.New(t, initial...))
	for i, name := range secretsOfThePod {
		for file, text := range files {
			if strings.Contains(text, fmt.Sprintf("horse%dbattery", i)) {
				t.Errorf("%s holds the value of Secret %s", file, name)
			}
		}
	}
	if !strings.Contains(files["conditions.txt"], "INFO kept-line") {
		t.Errorf("%s", files["conditions.txt"])
	}
}
