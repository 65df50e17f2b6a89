// SPDX-License-Identifier: Apache-2.0

package imagelabels_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const (
	tagged   = "registry.example.com/team/server:1"
	pinned   = "registry.example.com/team/server@sha256:0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a"
	encoded  = "dmVyc2lvbjogMgo="
	content  = "version: 2\n"
	oneLayer = "sha256:0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"
)

// fakeRegistry returns the same result for all references and counts requests.
type fakeRegistry struct {
	mu       sync.Mutex
	requests []string
	digest   string
	labels   map[string]string
	file     string
	err      error
	hangs    string // references with this part get no response
	panics   string // references with this part panic
}

func (f *fakeRegistry) request(ctx context.Context, kind, reference string) error {
	f.mu.Lock()
	f.requests = append(f.requests, kind)
	err, hangs, ends := f.err, f.hangs, f.panics
	f.mu.Unlock()
	if ends != "" && strings.Contains(reference, ends) {
		panic(reference)
	}
	if hangs != "" && strings.Contains(reference, hangs) {
		<-ctx.Done()
		return &registry.Error{Kind: registry.Unreachable, Reference: reference, Err: ctx.Err()}
	}
	return err
}

func (f *fakeRegistry) Digest(ctx context.Context, reference string, _ authn.Keychain) (string, error) {
	return f.digest, f.request(ctx, "head", reference)
}

func (f *fakeRegistry) Image(ctx context.Context, reference string, _ authn.Keychain) (*registry.Image, error) {
	if err := f.request(ctx, "image", reference); err != nil {
		return nil, err
	}
	return &registry.Image{Digest: f.digest, Labels: f.labels}, nil
}

func (f *fakeRegistry) File(ctx context.Context, reference string, _ *registry.Image, _, _ string, _ authn.Keychain) ([]byte, error) {
	return []byte(f.file), f.request(ctx, "layer", reference)
}

func (f *fakeRegistry) FindFile(ctx context.Context, reference string, _ *registry.Image, file string, _ authn.Keychain) ([]byte, error) {
	if err := f.request(ctx, "file", reference); err != nil {
		return nil, err
	}
	if f.file == "" {
		return nil, &registry.Error{Kind: registry.NoFile, Reference: reference, Err: fmt.Errorf("it has no regular file %s", file)}
	}
	return []byte(f.file), nil
}

func (f *fakeRegistry) FindMatch(
	ctx context.Context, reference string, image *registry.Image, what string, _ func(string) bool, keys authn.Keychain,
) ([]byte, error) {
	return f.FindFile(ctx, reference, image, what, keys)
}

// takeRequests returns the requests since the last call.
func (f *fakeRegistry) takeRequests() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := strings.Join(f.requests, " ")
	f.requests = nil
	return text
}

func (f *fakeRegistry) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (*fakeRegistry) Close() {}

func (f *fakeRegistry) Client(*settings.Registries) imagelabels.Registry { return f }

type world struct {
	*testing.T
	*imagelabels.Reader
	registry *fakeRegistry
	store    *imagelabels.Store
	stop     context.CancelFunc
	told     chan types.NamespacedName
	// results counts requests by success.
	results map[bool]int
}

// newStore returns a Store in a fake cluster, which calls create, unless nil, before each creation of a ConfigMap.
func newStore(create func()) *imagelabels.Store {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	funcs := interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
		if create != nil {
			create()
		}
		return c.Create(ctx, o, options...)
	}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(funcs).Build()
	return &imagelabels.Store{Live: c, Writer: c, Namespace: "operator"}
}

// stored returns the ConfigMap of the store, empty if it does not exist.
func (w *world) stored() *corev1.ConfigMap {
	w.Helper()
	cm := &corev1.ConfigMap{}
	err := w.store.Live.Get(w.Context(), client.ObjectKey{Namespace: "operator", Name: "llama-stack-image-labels"}, cm)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return cm
}

// inBubble runs a test with a fake clock; all goroutines of a reader must end with its context.
func inBubble(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{
			T: t, registry: &fakeRegistry{digest: "sha256:1", labels: map[string]string{oci.LabelConfigBase64: encoded}},
			store: newStore(nil), results: map[bool]int{}, told: make(chan types.NamespacedName, 64),
		}
		w.start()
		defer func() { w.stop() }()
		test(w)
	})
}

// start simulates a new process with a new Reader.
func (w *world) start() {
	if w.stop != nil {
		w.stop()
		synctest.Wait()
	}
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	w.Reader = imagelabels.New(ctx, imagelabels.Options{Connect: w.registry.Client, Store: w.store, Key: secret.New(make([]byte, 32)), OnLookup: w.countLookup, Notify: w.notify})
}

func (w *world) notify(user types.NamespacedName) { w.told <- user }

func (w *world) countLookup(known bool) { w.results[known]++ }

func user(n int) types.NamespacedName {
	return types.NamespacedName{Namespace: "ai", Name: fmt.Sprint("s", n)}
}

func request(image string) imagelabels.Request {
	return imagelabels.Request{Image: image, Registries: &settings.Registries{}, Generation: 1}
}

// labels requests labels and waits for the result.
func (w *world) labels(u types.NamespacedName, q imagelabels.Request) imagelabels.Result {
	w.Helper()
	w.Labels(u, q)
	synctest.Wait()
	return w.Labels(u, q)
}

func (w *world) notified() []string {
	var names []string
	for {
		select {
		case user := <-w.told:
			names = append(names, user.Name)
		default:
			return names
		}
	}
}

// Proves: NFR-006, FR-020, FR-027d, L-33 (one request for each new digest, and none when idle).
func TestManyUsersOfADigestCauseOneRequest(t *testing.T) {
	inBubble(t, func(w *world) {
		if a := w.Labels(user(0), request(pinned)); !a.Pending {
			t.Errorf("%+v before the first request", a)
		}
		synctest.Wait()
		if got := w.notified(); len(got) != 1 || got[0] != "s0" {
			t.Errorf("announced %v", got)
		}
		for n := range 500 {
			if a := w.Labels(user(n), request(pinned)); a.Err != nil || a.Pending || a.Digest != "sha256:1" || string(a.Labels.Config) != content {
				t.Fatalf("%+v", a)
			}
		}
		synctest.Wait()
		if got := w.registry.takeRequests(); got != "image" {
			t.Errorf("500 custom resources asked: %s", got)
		}
		if w.results[false] != 1 || w.results[true] != 500 {
			t.Errorf("questions without and with an answer: %v", w.results)
		}
		<-time.After(time.Hour)
		synctest.Wait()
		edited := request(pinned)
		edited.Generation = 2
		w.labels(user(3), edited)
		<-time.After(30 * 24 * time.Hour)
		synctest.Wait()
		if got := w.registry.takeRequests() + fmt.Sprint(w.notified()); got != "[]" {
			t.Errorf("afterwards: %s", got)
		}
	})
}

// Proves: FR-027d, NFR-006 (the check after hours and on an edit is one request without a body; a new digest is read
// and announced).
func TestTagsAreRequestedAgain(t *testing.T) {
	inBubble(t, func(w *world) {
		q := request(tagged)
		w.labels(user(1), q)
		w.notified()
		w.registry.takeRequests()
		<-time.After(time.Hour)
		if got := w.registry.takeRequests(); got != "" {
			t.Errorf("idle for an hour: %s", got)
		}
		<-time.After(6 * time.Hour)
		synctest.Wait()
		if got := w.registry.takeRequests() + fmt.Sprint(w.notified()); got != "head[]" {
			t.Errorf("after hours: %s, want one request and no news", got)
		}
		<-time.After(time.Hour)
		w.registry.set(func() {
			w.registry.digest, w.registry.labels = "sha256:2", map[string]string{oci.LabelConfigBase64: "dmVyc2lvbjogMQo="}
		})
		q.Generation = 2
		if a := w.Labels(user(1), q); a.Digest != "sha256:1" {
			t.Errorf("%+v while the tag is asked again", a)
		}
		synctest.Wait()
		if got := w.registry.takeRequests() + fmt.Sprint(w.notified()); got != "head image[s1]" {
			t.Errorf("after an edit: %s", got)
		}
		if a := w.Labels(user(1), q); a.Digest != "sha256:2" || string(a.Labels.Config) != "version: 1\n" {
			t.Errorf("%+v", a)
		}
	})
}

// Proves: R14, R19 (known results stay during failures, and failed requests are retried with back-off).
func TestFailuresKeepKnownResults(t *testing.T) {
	inBubble(t, func(w *world) {
		q := request(tagged)
		w.labels(user(1), q)
		w.notified()
		down := &registry.Error{Kind: registry.Unreachable, Err: errors.New("refused")}
		w.registry.set(func() { w.registry.err = down })
		<-time.After(24 * time.Hour)
		synctest.Wait()
		if a := w.Labels(user(1), q); a.Err != nil || a.Digest != "sha256:1" || len(w.notified()) != 0 {
			t.Errorf("%+v though it was known", a)
		}
		w.registry.takeRequests()
		other := request("registry.example.com/team/other:1")
		if a := w.labels(user(2), other); !errors.Is(a.Err, down) || a.Pending {
			t.Errorf("%+v", a)
		}
		<-time.After(24 * time.Hour)
		synctest.Wait()
		if got := strings.Count(w.registry.takeRequests(), "image"); got < 50 || got > 110 {
			t.Errorf("asked %d times in a day", got)
		}
		if got := fmt.Sprint(w.notified()); got != "[s2]" {
			t.Errorf("announced %s; want the failure, once", got)
		}
		w.registry.set(func() { w.registry.err = nil })
		<-time.After(20 * time.Minute)
		synctest.Wait()
		if a := w.Labels(user(2), other); a.Err != nil || fmt.Sprint(w.notified()) != "[s2]" {
			t.Errorf("%+v after the registry is back", a)
		}
	})
}

// Proves: R14.
func TestRegistryRetryAfterIsObeyed(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.err = &registry.Error{Kind: registry.RateLimited, RetryAfter: time.Hour, Err: errors.New("429")}
		q := request(tagged)
		w.labels(user(1), q)
		for range 10 {
			q.Generation++
			w.labels(user(1), q)
			<-time.After(5 * time.Minute)
		}
		if got := w.registry.takeRequests(); got != "image" {
			t.Errorf("asked within the hour: %s", got)
		}
		w.registry.set(func() { w.registry.err = nil })
		<-time.After(15 * time.Minute)
		synctest.Wait()
		if a := w.Labels(user(1), q); a.Err != nil || a.Pending {
			t.Errorf("%+v", a)
		}
	})
}

// Proves: FR-027d, NFR-006 (the store holds 100 images with configurations as large as that of the starter
// distribution).
func TestRestartRequestsNoImageAgain(t *testing.T) {
	base, known := distributions.Base("starter", "0.7")
	if !known {
		t.Fatal("there is no base")
	}
	inBubble(t, func(w *world) {
		w.registry.labels = map[string]string{oci.LabelConfigBase64: base64.StdEncoding.EncodeToString(base)}
		all := func() (pending int) {
			for n := range 100 {
				if w.Labels(user(n), request(fmt.Sprintf("registry.example.com/team/server-%d:1", n))).Pending {
					pending++
				}
				synctest.Wait()
				w.notified()
			}
			return pending
		}
		if pending := all(); pending != 100 {
			t.Fatalf("%d answers are pending", pending)
		}
		<-time.After(time.Minute)
		if got := strings.Count(w.registry.takeRequests(), "image"); got != 100 {
			t.Errorf("%d questions before the restart", got)
		}
		w.start()
		if pending, got := all(), w.registry.takeRequests(); pending > 0 || got != "" {
			t.Errorf("after a restart %d answers are pending, asked %s", pending, got)
		}
	})
}

// Proves: FR-027d.
func TestBrokenStoreIsReplaced(t *testing.T) {
	inBubble(t, func(w *world) {
		broken := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: "llama-stack-image-labels"},
			BinaryData: map[string][]byte{"a": []byte("no gzip")},
		}
		if err := w.store.Writer.Create(t.Context(), broken); err != nil {
			t.Fatal(err)
		}
		if a := w.labels(user(1), request(tagged)); a.Pending || a.Err != nil {
			t.Errorf("%+v", a)
		}
		synctest.Wait()
		if stored := w.stored().BinaryData; len(stored) != 1 || stored["a"] != nil {
			t.Errorf("kept: %v", stored)
		}
	})
}

// Proves: FR-027d.
func TestResultsSurviveRestart(t *testing.T) {
	inBubble(t, func(w *world) {
		w.labels(user(1), request(tagged))
		synctest.Wait()
		w.registry.takeRequests()
		w.registry.set(func() { w.registry.err = &registry.Error{Kind: registry.Unreachable, Err: errors.New("refused")} })
		w.start()
		if a := w.Labels(user(1), request(tagged)); a.Pending || a.Digest != "sha256:1" || string(a.Labels.Config) != content {
			t.Errorf("%+v after a restart", a)
		}
		synctest.Wait()
		if got := w.registry.takeRequests(); got != "" {
			t.Errorf("after a restart: %s", got)
		}
	})
}

type keychain string

func (k keychain) Resolve(authn.Resource) (authn.Authenticator, error) {
	return &authn.Basic{Username: "pull", Password: string(k)}, nil
}

// Proves: FR-027c, NFR-003 (the store does not contain credentials).
func TestCredentialsAreNotShared(t *testing.T) {
	inBubble(t, func(w *world) {
		mine := request(pinned)
		mine.Keys = keychain("canary-3c1")
		w.labels(user(1), mine)
		w.registry.set(func() { w.registry.err = &registry.Error{Kind: registry.Unauthorized, Err: errors.New("401")} })
		if a := w.labels(user(2), request(pinned)); registry.KindOf(a.Err) != registry.Unauthorized {
			t.Errorf("without credentials: %+v", a)
		}
		same := mine
		if a := w.Labels(user(3), same); a.Err != nil || a.Pending {
			t.Errorf("with the same credentials: %+v", a)
		}
		synctest.Wait()
		stored := w.stored()
		if len(stored.BinaryData) != 1 {
			t.Errorf("%d answers are kept, want one", len(stored.BinaryData))
		}
		for id, packed := range stored.BinaryData {
			if text := id + unpacked(t, packed); strings.Contains(text, "canary-3c1") {
				t.Errorf("kept: %s", text)
			}
		}
	})
}

// keychainOf is a keychain with credentials for one registry.
type keychainOf struct{ registry, password string }

func (k keychainOf) Resolve(r authn.Resource) (authn.Authenticator, error) {
	if r.RegistryStr() != k.registry {
		return authn.Anonymous, nil
	}
	return &authn.Basic{Username: "pull", Password: k.password}, nil
}

// Proves: FR-027f, NFR-003 (an additional mirror needs a new request).
func TestCredentialsForMirrorsAreNotShared(t *testing.T) {
	mirrors := settings.ReadClusterMirrors([]unstructured.Unstructured{{Object: map[string]any{"spec": map[string]any{"imageDigestMirrors": []any{
		map[string]any{"source": "registry.example.com", "mirrors": []any{"mirror.example.com"}},
	}}}}})
	inBubble(t, func(w *world) {
		asks := func(keys authn.Keychain, mirrors settings.ClusterMirrors) imagelabels.Request {
			q := request(pinned)
			q.Keys, q.Registries = keys, &settings.Registries{Cluster: mirrors}
			return q
		}
		mine := keychainOf{"mirror.example.com", "canary-3c1"}
		if a := w.labels(user(1), asks(mine, mirrors)); a.Err != nil || a.Pending {
			t.Fatalf("%+v", a)
		}
		for name, q := range map[string]imagelabels.Request{
			"other credentials": asks(keychainOf{"mirror.example.com", "other"}, mirrors),
			"none for it":       asks(keychainOf{"other.example.com", "canary-3c1"}, mirrors),
			"without a mirror":  asks(mine, nil),
		} {
			if a := w.Labels(user(2), q); !a.Pending {
				t.Errorf("%s: %+v", name, a)
			}
		}
		if a := w.Labels(user(3), asks(mine, mirrors)); a.Pending {
			t.Errorf("the same credentials: %+v", a)
		}
	})
}

// Proves: L-03, R14 (a registry that hangs delays no other, and each request has a timeout).
func TestHangingRegistryDelaysNoOther(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.hangs = "hanging.example.com"
		for n := range 200 {
			w.Labels(user(n), request(fmt.Sprintf("hanging.example.com/team/server:%d", n)))
		}
		synctest.Wait()
		if a := w.labels(user(1000), request(tagged)); a.Pending || a.Err != nil {
			t.Errorf("%+v", a)
		}
		<-time.After(2 * time.Minute)
		synctest.Wait()
		if a := w.Labels(user(199), request("hanging.example.com/team/server:199")); a.Err == nil && !a.Pending {
			t.Errorf("%+v", a)
		}
	})
}

// Proves: R63 (registries that hang delay only requests of their own namespace).
func TestRegistriesOfANamespaceDelayNoOther(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.hangs = "hanging"
		for n := range 100 {
			bad := types.NamespacedName{Namespace: fmt.Sprint("hostile-", n%5), Name: fmt.Sprint("s", n)}
			w.Labels(bad, request(fmt.Sprintf("hanging-%d.example.com/team/server:1", n)))
		}
		synctest.Wait()
		if got := strings.Count(w.registry.takeRequests(), "image"); got != 5*4 {
			t.Errorf("%d questions of 5 namespaces are asked at once, want 20", got)
		}
		if a := w.labels(user(1), request(tagged)); a.Pending || a.Err != nil {
			t.Errorf("%+v", a)
		}
	})
}

// Proves: R63 (if registries that hang take all slots, the next free slot goes to a namespace without a request).
func TestNextSlotGoesToNamespaceWithFewestRequests(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.hangs = "hanging"
		for n := range 400 {
			bad := types.NamespacedName{Namespace: fmt.Sprint("hostile-", n%8), Name: fmt.Sprint("s", n)}
			w.Labels(bad, request(fmt.Sprintf("hanging-%d.example.com/team/server:1", n)))
		}
		synctest.Wait()
		if got := strings.Count(w.registry.takeRequests(), "image"); got != 24 {
			t.Errorf("%d questions are asked at once, want 24", got)
		}
		w.Labels(user(1), request(tagged))
		<-time.After(time.Minute)
		synctest.Wait()
		if a := w.Labels(user(1), request(tagged)); a.Pending || a.Err != nil {
			t.Errorf("%+v after one question has ended", a)
		}
	})
}

// Proves: R63 (a panic ends only its request; it is reported without its value and retried slowly).
func TestReaderSurvivesAPanic(t *testing.T) {
	inBubble(t, func(w *world) {
		const bad = "panicking.example.com/team/server:1"
		w.registry.panics = "panicking"
		w.store.Writer = newStore(func() { panic("creating a ConfigMap") }).Writer
		a := w.labels(user(1), request(bad))
		if !errors.Is(a.Err, problem.ErrInternal) || a.Pending || strings.Contains(a.Err.Error(), "panicking.example.com") {
			t.Errorf("%+v", a)
		}
		if got := fmt.Sprint(w.notified()); got != "[s1]" {
			t.Errorf("announced %s", got)
		}
		if a := w.labels(user(2), request(tagged)); a.Err != nil || a.Pending {
			t.Errorf("the other image: %+v", a)
		}
		w.registry.takeRequests()
		<-time.After(problem.PanicRetryDelay - time.Minute)
		if got := w.registry.takeRequests(); got != "" {
			t.Errorf("asked %s within the delay", got)
		}
		w.registry.set(func() { w.registry.panics = "" })
		<-time.After(3 * time.Minute)
		synctest.Wait()
		if a := w.Labels(user(1), request(bad)); a.Err != nil || a.Pending {
			t.Errorf("%+v after the delay", a)
		}
	})
}

// Proves: FR-027a, FR-027b, R14 (an unusable label is a result and is not read again).
func TestLabelsThatCannotBeUsed(t *testing.T) {
	layer := map[string]string{oci.LabelConfigLayer: oneLayer, oci.LabelConfigPath: "/app/config.yaml"}
	for name, c := range map[string]struct {
		labels map[string]string
		want   string
	}{
		"not base64":     {map[string]string{oci.LabelConfigBase64: "%"}, "label io.llamastack.config.base64: not base64"},
		"layer, no path": {map[string]string{oci.LabelConfigLayer: oneLayer}, "label io.llamastack.config.layer also needs label io.llamastack.config.path"},
	} {
		inBubble(t, func(w *world) {
			w.registry.labels = c.labels
			a := w.labels(user(1), request(pinned))
			if _, ok := errors.AsType[*imagelabels.ContentError](a.Err); !ok || !strings.Contains(a.Err.Error(), c.want) {
				t.Errorf("%s: %+v", name, a)
			}
			<-time.After(24 * time.Hour)
			if got := w.registry.takeRequests(); got != "image" {
				t.Errorf("%s: asked %s", name, got)
			}
		})
	}
	inBubble(t, func(w *world) {
		w.registry.labels, w.registry.file = layer, content
		if a := w.labels(user(1), request(pinned)); a.Err != nil || string(a.Labels.Config) != content || a.Labels.ConfigLabel != oci.LabelConfigLayer {
			t.Errorf("%+v", a)
		}
		if got := w.registry.takeRequests(); got != "image layer" {
			t.Errorf("asked %s", got)
		}
	})
	inBubble(t, func(w *world) {
		if a := w.labels(user(1), request("not a reference")); registry.KindOf(a.Err) != registry.InvalidReference {
			t.Errorf("%+v", a)
		}
	})
}

// Proves: R63, L-03 (cached and stored results are bounded, the newest stay, and images without users are not read).
func TestCachedResultsAreBounded(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.labels = map[string]string{oci.LabelConfigBase64: base64.StdEncoding.EncodeToString(incompressible(200_000))}
		image := func(n int) imagelabels.Request {
			return request(fmt.Sprintf("registry.example.com/team/server:%d", n))
		}
		const count = 100
		for n := range count {
			if a := w.labels(user(1), image(n)); a.Pending {
				t.Fatalf("%d: %+v", n, a)
			}
			w.notified()
		}
		<-time.After(time.Minute)
		size := 0
		for _, packed := range w.stored().BinaryData {
			size += len(packed)
		}
		if size < 200_000 || size > 900_000 {
			t.Errorf("%d bytes are kept", size)
		}
		w.Forget(user(1))
		w.registry.takeRequests()
		<-time.After(24 * time.Hour)
		if got := w.registry.takeRequests(); got != "" {
			t.Errorf("without users: %s", got)
		}
		known := 0
		for n := range count {
			if a := w.Labels(user(n), image(n)); !a.Pending {
				known++
			} else if n == count-1 {
				t.Error("the newest answer was dropped")
			}
		}
		if most := (16 << 20) / 200_000; known > most || known < most-10 {
			t.Errorf("%d answers are in memory, want about %d", known, most)
		}
	})
}

// incompressible returns random text.
func incompressible(n int) []byte {
	out, x := make([]byte, n), uint64(88172645463325252)
	for i := range out {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		out[i] = byte(x)
	}
	return out
}

func unpacked(t *testing.T, packed []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Proves: R14.
func TestChangedSettingsCauseNewRequests(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.err = &registry.Error{Kind: registry.Refused, Err: errors.New("not allowed")}
		q := request(tagged)
		w.labels(user(1), q)
		<-time.After(20 * time.Second)
		w.registry.set(func() { w.registry.err = nil })
		q.Registries = &settings.Registries{Allowed: []string{"registry.example.com"}}
		if a := w.labels(user(1), q); a.Err != nil {
			t.Errorf("%+v", a)
		}
	})
}
