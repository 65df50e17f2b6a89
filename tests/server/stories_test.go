// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	stories = "testdata/stories"
	samples = "../../config/samples"
	// everywhere names the variable that makes every release boot every story. By default, most boot only coreStories.
	everywhere = "LLSD_BOOT_EVERYTHING"
)

var (
	coreStories = []string{"us-1.2", "us-1.3", "us-2.1", "us-3.2", "us-3.3"}
	// alsoOn maps further stories to the oldest release line that supports them.
	alsoOn = map[string]string{"sample-registered-stores": catalog.FirstLine(func(l *catalog.Line) bool { return l.RegistersVectorStores })}
)

// bootsEverything reports whether all stories boot with a release: pinnedOf07, the newest, or any in the full run.
func (r release) bootsEverything() bool {
	return r.version == pinnedOf07.Version || r.newest && r.line == catalog.Newest() || os.Getenv(everywhere) != ""
}

// story is a custom resource whose server is booted: a folder of testdata/stories, or a file of config/samples.
type story struct{ name, file string }

func allStories(t *testing.T) []story {
	t.Helper()
	var all []story
	for _, pattern := range []string{stories + "/*/cr.yaml", samples + "/v1alpha2-*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			name := filepath.Base(filepath.Dir(file))
			if name == "samples" {
				name = "sample-" + strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "v1alpha2-"), ".yaml")
			}
			all = append(all, story{name, file})
		}
	}
	return all
}

// rowsOf are rows of refused.tsv or not-booted.tsv: story, release lines, and text.
type rowsOf [][]string

// text returns the text about a story; ok reports whether there is a row.
func (r rowsOf) text(name, line string) (text string, ok bool) {
	for _, row := range r {
		if row[0] == name && onLine(row[1], line) {
			return row[2], true
		}
	}
	return "", false
}

// Each sample and user story boots the real server with the generated configuration. The server has the requested
// resources, and answers a chat from the requested backend with the requested key.
//
// Proves: IT-1, IT-2, IT-3, SMP-MULTI, US-1.1, US-1.2, US-1.3, US-2.1, US-2.2, US-2.3, US-3.1, US-3.2, US-3.3, US-4.3, EC-1, EC-4, EC-5, FR-021,
// FR-022, L-09, L-14, R7, R84.
func TestStoriesBoot(t *testing.T) {
	t.Parallel()
	for _, row := range unbootables(t, "") {
		t.Logf("not booted where only the base has it: %s %s, lines %s, lacks %s", row.api, row.providerType, row.lines, row.missing)
	}
	all, refused, elsewhere := allStories(t), rowsOf(readTable(t, "testdata/refused.tsv", 3)), rowsOf(readTable(t, "testdata/not-booted.tsv", 3))
	for _, row := range slices.Concat(refused, elsewhere) {
		if !slices.ContainsFunc(all, func(s story) bool { return s.name == row[0] }) {
			t.Errorf("testdata names the story %s, which is not there", row[0])
		}
	}
	forEachRelease(t, func(t *testing.T, r release) {
		n, boots, took, cpu := forkServerOf(t, r), 0, time.Duration(0), 0.0
		for _, s := range all {
			if !slices.Contains(coreStories, s.name) && alsoOn[s.name] != r.line && !r.bootsEverything() {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				b, ok := prepare(t, r, s, refused)
				if why, not := elsewhere.text(s.name, r.line); not {
					t.Logf("not booted: %s", why)
					return
				}
				if !ok {
					return
				}
				reduce(b.booted, b.base, unbootables(t, r.line))
				b.backends = startBackends(t, b.asked)
				server := b.boot(t, n)
				t.Cleanup(func() {
					if t.Failed() {
						t.Logf("the server's log:\n%s", tail(server.log()))
					}
				})
				boots, took = boots+1, took+server.took
				for _, fault := range answerFaults(t, b, server) {
					t.Error(fault)
				}
				server.stop()
				cpu += server.cpu
			})
		}
		each := float64(max(boots, 1))
		t.Logf("release %s: %d boots, %.1f s each, %.1f s of a processor with all requests; before them %.1f s of importing",
			r.version, boots, took.Seconds()/each, cpu/each, n.preload.Seconds())
	})
}

// booting is a story prepared for a release.
type booting struct {
	name, line string
	asked      requested
	// config is the generated configuration, and booted the tree that boots.
	config       []byte
	base, booted map[string]any
	env          map[string]string
	backends     *backends
	// registered are the spec's resources in the lists of the server, and lists are the paths that the operator requests.
	registered []serverconfig.Registered
	lists      map[string]string
}

// prepare generates the configuration with the operator's code. It returns false if the operator refuses the story.
func prepare(t *testing.T, r release, s story, refused rowsOf) (*booting, bool) {
	t.Helper()
	content := framework.ReadFile(t, s.file)
	made := try(t, r, s.file)
	var said strings.Builder
	made.Print(&said)
	if text, want := refused.text(s.name, r.line); want != made.Failed() || !strings.Contains(said.String(), text) {
		t.Errorf("line %s, %s: refused %t, want %t with %q:\n%s", r.line, s.name, made.Failed(), want, text, said.String())
		return nil, false
	}
	if made.Failed() {
		return nil, false
	}
	asked := readRequested(t, content)
	base := baseOf(t, asked.distribution, r)
	b := &booting{name: s.name, line: r.line, asked: asked, base: parseYAML(t, base), env: podEnvironment(t, made.Desired.Objects)}
	b.config = base // without generated configuration, the image runs its own, which the base represents
	if made.Desired.Config != nil {
		b.config, b.registered = made.Desired.Config.YAML, made.Desired.Config.Registered
	}
	b.booted, b.lists = parseYAML(t, b.config), status.Lists(made.Desired, &settings.Distribution{Line: lineOf(t, r)})
	return b, true
}

// The whole configuration of each sample and story is valid on every release, without a boot.
//
// Proves: FR-021, L-09, L-14.
func TestStoriesAreValid(t *testing.T) {
	t.Parallel()
	all, refused := allStories(t), rowsOf(readTable(t, "testdata/refused.tsv", 3))
	forEachRelease(t, func(t *testing.T, r release) {
		dir, args := t.TempDir(), []string{"--libyaml", "--dummy", "LLSD_"}
		for _, s := range all {
			b, ok := prepare(t, r, s, refused)
			if !ok {
				continue
			}
			folder := filepath.Join(dir, s.name)
			framework.NoError(t, os.Mkdir(folder, 0o700))
			env := strings.Builder{}
			for _, name := range slices.Sorted(maps.Keys(b.env)) {
				// Secrets keep the dummies of validate.py, which also fit numeric fields.
				if !strings.HasPrefix(b.env[name], keyPrefix) {
					fmt.Fprintf(&env, "%s=%s\n", name, b.env[name])
				}
			}
			for name, content := range map[string]string{"config.yaml": string(b.config), "env": env.String()} {
				framework.WriteFile(t, filepath.Join(folder, name), content)
			}
			args = append(args, filepath.Join(folder, "config.yaml"))
		}
		for _, v := range validate(t, r, args...) {
			for _, f := range v.Findings {
				t.Errorf("%s: %s", v.Config, f)
			}
			if len(v.Providers) == 0 {
				t.Errorf("%s: no providers validated", v.Config)
			}
		}
	})
}

// try returns what the operator and the plugin would apply for a file with one resource.
func try(t *testing.T, r release, file string) *offline.Resource {
	t.Helper()
	known, err := settings.Parse(nil)
	framework.NoError(t, err)
	cluster := offline.NewCluster(known)
	cluster.Replacement.Version = r.version
	documents, errs := manifest.Read([]string{file}, false, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, d := range documents {
		if offline.Recognizes(d) {
			return cluster.DryRun(t.Context(), d)
		}
	}
	t.Fatalf("%s holds no LlamaStackDistribution", file)
	return nil
}

// podEnvironment returns the server's environment from the Deployment, with canaries as values of Secrets.
func podEnvironment(t *testing.T, made []objects.Object) map[string]string {
	t.Helper()
	env := map[string]string{}
	for _, o := range made {
		d, ok := o.(*appsv1.Deployment)
		if !ok {
			continue
		}
		for _, v := range d.Spec.Template.Spec.Containers[0].Env {
			env[v.Name] = valueOf(t, v)
		}
	}
	if len(env) == 0 {
		t.Fatal("no Deployment, or one without environment")
	}
	return env
}

func valueOf(t *testing.T, v corev1.EnvVar) string {
	t.Helper()
	switch {
	case v.ValueFrom == nil:
		return v.Value
	case v.ValueFrom.FieldRef != nil:
		return "pod"
	case v.ValueFrom.SecretKeyRef != nil:
		return keyOf(v.ValueFrom.SecretKeyRef.Name + "/" + v.ValueFrom.SecretKeyRef.Key)
	}
	t.Fatalf("no value for %+v", v)
	return ""
}

// metricsOnLoopback moves the server's metrics from the port of a pod to a free one.
func metricsOnLoopback(t *testing.T, env map[string]string) {
	t.Helper()
	for name := range env {
		switch {
		case strings.HasSuffix(name, "_METRICS_HOST"):
			env[name] = framework.Loopback
		case strings.HasSuffix(name, "_METRICS_PORT"):
			env[name] = strconv.Itoa(framework.FreePort(t, framework.Loopback))
		}
	}
}

// boot starts the server on loopback in a folder of its own.
func (b *booting) boot(t *testing.T, n *forkServer) *server {
	t.Helper()
	dir, port := t.TempDir(), framework.FreePort(t, framework.Loopback)
	env := map[string]string{"PATH": os.Getenv("PATH")}
	for name, value := range b.env {
		if rest, below := strings.CutPrefix(value, v1alpha2.DefaultMountPath); below && (rest == "" || rest[0] == '/') {
			value = dir + rest
		}
		env[name] = value
	}
	env["HOME"], env["TMPDIR"] = dir, dir
	delete(env, "RUN_CONFIG_PATH")
	for _, name := range []string{"LLAMA_STACK_PORT", "OGX_PORT"} {
		if env[name] != "" {
			env[name] = strconv.Itoa(port)
		}
	}
	metricsOnLoopback(t, env)
	if store := env["SQLITE_STORE_DIR"]; store != "" {
		framework.NoError(t, os.MkdirAll(store, 0o700))
	}
	serverSection, _ := b.booted["server"].(map[string]any)
	serverSection["host"] = "127.0.0.1"
	content, err := yaml.Marshal(b.booted)
	framework.NoError(t, err)
	file := filepath.Join(dir, "config.yaml")
	framework.WriteFile(t, file, content)
	b.env = env
	return n.boot(t, bootJob{Config: file, Dir: dir, Env: env, Hosts: b.backends.hosts}, port)
}
