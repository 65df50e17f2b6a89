// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/tarball"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// release is a release of the server, in an image built from its package.
type release struct {
	line string
	// base is the path of the base configuration that is registered with the image.
	base string
	// archive is the image archive; ref is the image's name, and version the release in it.
	archive, ref, version string
}

var (
	// pinned is of the newest release line that supports everything of release 0.9, and newest of the newest release line.
	pinned = release{line: "0.7", base: "tests/server/testdata/light-base.yaml"}
	newest = release{line: catalog.Newest(), base: "hack/serverimage/light-ogx.yaml"}

	// registered is the release that the name starter has in the cluster, guarded by registering because two parts may
	// change it at once.
	registered  *release
	registering sync.Mutex
)

// find reads the image from the archive that the environment variable names.
func (r *release) find(variable string) error {
	r.archive = os.Getenv(variable)
	if r.archive == "" {
		return fmt.Errorf(`%s names no image archive: run these tests by "make test-e2e"`, variable)
	}
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(r.archive) })
	if err != nil {
		return fmt.Errorf("image archive %s: %w", r.archive, err)
	}
	if len(manifest) != 1 || len(manifest[0].RepoTags) != 1 {
		return fmt.Errorf("image archive %s: want one image with one name", r.archive)
	}
	r.ref = manifest[0].RepoTags[0]
	r.version = r.ref[strings.LastIndex(r.ref, ":")+1:]
	if !strings.HasPrefix(r.version, r.line+".") {
		return fmt.Errorf("image archive %s: holds release %s, want one of line %s", r.archive, r.version, r.line)
	}
	return nil
}

// register registers the release under the name starter in the operator's ConfigMap, and the pinned one under light.
func register(ctx context.Context, r *release) error {
	registering.Lock()
	defer registering.Unlock()
	if registered == r {
		return nil
	}
	entries := map[string]settings.Registration{}
	for name, of := range map[string]*release{"light": &pinned, "starter": r} {
		base, err := os.ReadFile(filepath.Join(framework.Root(), of.base))
		if err != nil {
			return err
		}
		entries[name] = settings.Registration{Image: of.ref, ServerVersion: of.version, Config: string(base)}
	}
	listed, err := yaml.Marshal(entries)
	if err != nil {
		return err
	}
	cm := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: framework.OperatorNamespace, Name: settings.ConfigMapName},
		Data:       map[string]string{settings.KeyDistributions: string(listed), settings.KeyEdge: edgeSetting, settings.KeyRegistries: "plainHTTP: [" + cluster.Registry + "]"},
	}
	if registered == nil {
		err = kube.Create(ctx, cm)
	} else {
		err = kube.Update(ctx, cm)
	}
	if err == nil {
		registered = r
	}
	return err
}

func use(t *testing.T, r *release) {
	t.Helper()
	framework.NoError(t, register(t.Context(), r))
}

// waitTaken waits until the operator has picked up the release that is registered for the stack.
func (s stack) waitTaken(t *testing.T) {
	t.Helper()
	framework.Eventually(t, soon, s.name+" is resolved to "+registered.ref, func() error {
		if d := s.in(t).CR(s.name).Status.ResolvedDistribution; d == nil || d.Image != registered.ref {
			return fmt.Errorf("resolved to %+v", d)
		}
		return nil
	})
}

// inPlace has what a change of the server's release must not change.
type inPlace struct {
	deployment, service types.UID
	clusterIP           string
	selector            string
	volumes             sets.Set[string]
	dataDir             string
}

func (now inPlace) keeps(before inPlace) bool {
	return now.deployment == before.deployment && now.service == before.service && now.clusterIP == before.clusterIP && now.selector == before.selector &&
		now.volumes.IsSuperset(before.volumes) && now.dataDir == before.dataDir
}

func (s stack) inPlace(t *testing.T) inPlace {
	t.Helper()
	var d appsv1.Deployment
	var service corev1.Service
	framework.NoError(t, errors.Join(s.in(t).Get(&d, s.name), s.in(t).Get(&service, s.name+"-service")))
	kept := inPlace{
		deployment: d.UID, service: service.UID, clusterIP: service.Spec.ClusterIP,
		selector: metav1.FormatLabelSelector(d.Spec.Selector), volumes: sets.New[string](),
	}
	pod := d.Spec.Template.Spec
	for _, m := range pod.Containers[0].VolumeMounts {
		kept.volumes.Insert(m.Name + " at " + m.MountPath)
	}
	for _, v := range pod.Containers[0].Env {
		if v.Name == "SQLITE_STORE_DIR" {
			kept.dataDir = v.Value
		}
	}
	return kept
}

// waitServer waits until the resource is Ready and the status reports this version of the server. The first version
// reported after a rollout can be that of the terminating pod.
func (s stack) waitServer(t *testing.T, version string) *v1alpha2.LlamaStackDistribution {
	t.Helper()
	s.waitReady(t)
	var cr *v1alpha2.LlamaStackDistribution
	framework.Eventually(t, framework.Patience, s.name+" reports the version of its server", func() error {
		cr = s.in(t).CR(s.name)
		if got := cr.Status.Version.LlamaStackServerVersion; got != version {
			return fmt.Errorf("version %s, want %s", got, version)
		}
		return nil
	})
	return cr
}

// The platform team registers a newer release under the name that a resource uses, and then the former one again.
//
// Proves: R14, R16, R21, R26, R47, US-3.1.
func newerReleaseTakesOver(t *testing.T) {
	s := sampleStack(t)
	before, generation := s.inPlace(t), s.in(t).CR(s.name).Generation
	for _, to := range []*release{&newest, &pinned} {
		revision := s.in(t).Revision(s.name)
		use(t, to)
		s.waitTaken(t)
		cr := s.waitServer(t, to.version)
		checkOneRollout(t, s, revision)
		now := s.inPlace(t)
		if !now.keeps(before) || cr.Generation != generation {
			t.Errorf("the stack is %+v of generation %d now, and was %+v of generation %d", now, cr.Generation, before, generation)
		}
		if cr.Status.ResolvedDistribution.ServerLine != to.line {
			t.Errorf("status: resolved %+v; want line %s", cr.Status.ResolvedDistribution, to.line)
		}
		s.chats(t, sampleServer, sampleServer, sampleModel)
		did(t, "release %s is registered for the name: one rollout in place, Ready, and a chat completion goes through", to.version)
	}
}

// The resource's user changes its image from the pinned to the newest release; the server keeps its data.
//
// Proves: R14, R21, R27, R47, US-3.1.
func imageOfTheResourceChanges(t *testing.T) {
	s := stack{"e2e-image", "my-stack"}
	s.prepare(t, sampleModel)
	resource := load(t, "config", "samples", "v1alpha2-storage.yaml")

	s.edit(t, resource, map[string]any{"image": pinned.ref}, "distribution")
	s.waitServer(t, pinned.version)
	s.waitCompletions(t, 0)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	s.waitCompletions(t, 1)
	before, revision, claim := s.inPlace(t), s.in(t).Revision(s.name), s.claim(t)
	did(t, "a resource that names the image of %s is Ready, with its data on the PVC of config/samples/v1alpha2-storage.yaml", pinned.version)

	asked := startTraffic(t, s.url(t))
	s.edit(t, resource, map[string]any{"image": newest.ref}, "distribution")
	cr := s.waitServer(t, newest.version)
	checkOneRollout(t, s, revision)
	if now := s.inPlace(t); !now.keeps(before) || s.claim(t) != claim {
		t.Errorf("the stack is %+v now, and was %+v; its PVC %s was %s", now, before, s.claim(t), claim)
	}
	if cr.Status.ResolvedDistribution.ServerLine != newest.line {
		t.Errorf("status: resolved %+v; want line %s", cr.Status.ResolvedDistribution, newest.line)
	}
	s.waitCompletions(t, 1)
	s.chats(t, sampleServer, sampleServer, sampleModel)
	o := asked.end()
	if o.lost == 0 { // Recreate: requests fail from the end of the former pod until the new one is ready
		t.Errorf("the time without a server was not measured: %s", o)
	}
	did(t, "it names that of %s now: one rollout in place, the same PVC, the completion from before is there, and a new one goes through; %s", newest.version, o)
	s.in(t).Kubectl("delete", "llsd", s.name)
}

// waitCompletions waits until the server reports the number of stored completions. Call it before the first chat: the
// server creates its tables on first use, and two concurrent first uses break them for good.
func (s stack) waitCompletions(t *testing.T, want int) {
	t.Helper()
	framework.Eventually(t, soon, fmt.Sprintf("the server of %s counts %d completions", s.name, want), func() error {
		var stored struct{ Data []json.RawMessage }
		status, answer, err := tryCall(t, http.MethodGet, s.url(t)+"/v1/chat/completions", nil)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(answer, &stored); err != nil || status != http.StatusOK || len(stored.Data) != want || strings.Count(string(answer), question) < want {
			return fmt.Errorf("status %d: %s", status, answer)
		}
		return nil
	})
}

func (s stack) claim(t *testing.T) types.UID {
	t.Helper()
	var claim corev1.PersistentVolumeClaim
	framework.NoError(t, s.in(t).Get(&claim, s.name+"-pvc"))
	return claim.UID
}
