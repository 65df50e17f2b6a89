// SPDX-License-Identifier: Apache-2.0

package imagelabels_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
)

const (
	file  = "/lls-provider/lls-provider-spec.yaml"
	other = "registry.example.com/team/other@sha256:0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"
)

// Proves: R46, NFR-006 (all custom resources share the file, and a restart does not read it again).
func TestFilesOfImagesAreReadOnce(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.file = "kind: ProviderPackage"
		questions := func() []imagelabels.Request { return []imagelabels.Request{request(pinned), request(other)} }
		for _, a := range w.Files(user(1), file, questions()) {
			if !a.Pending {
				t.Errorf("%+v before the first request", a)
			}
		}
		w.labels(user(1), request(pinned))
		w.notified()
		if got := w.registry.takeRequests(); strings.Count(got, "image") != 3 || strings.Count(got, "file") != 2 {
			t.Errorf("asked %s, want the labels of one image and a file of two", got)
		}
		check := func(when string) {
			for n := range 100 {
				for i, a := range w.Files(user(n), file, questions()) {
					if a.Pending || a.Err != nil || string(a.Content) != "kind: ProviderPackage" || a.Digest == "" {
						t.Fatalf("%s, image %d: %+v", when, i, a)
					}
				}
			}
			<-time.After(24 * time.Hour)
			synctest.Wait()
			if got := w.registry.takeRequests() + fmt.Sprint(w.notified()); got != "[]" {
				t.Errorf("%s: %s", when, got)
			}
		}
		check("later")
		w.start()
		check("after a restart")
	})
}

// Proves: R92 (the result survives a restart).
func TestImagesWithoutThePackageAreSearchedOnce(t *testing.T) {
	inBubble(t, func(w *world) {
		ask := func() imagelabels.Result {
			return w.Files(user(1), oci.ServerPackage, []imagelabels.Request{request(pinned)})[0]
		}
		ask()
		synctest.Wait()
		w.notified()
		if got := w.registry.takeRequests(); !strings.Contains(got, "file") {
			t.Errorf("asked %q at first", got)
		}
		w.start()
		a := ask()
		synctest.Wait()
		if got := w.registry.takeRequests(); a.Pending || a.Err != nil || !strings.Contains(string(a.Content), oci.ServerPackage) || got != "" {
			t.Errorf("%+v, asked %q", a, got)
		}
	})
}

// Proves: R46 (an image without the file has its own result, and an image without users is not read).
func TestFilesThatAreMissing(t *testing.T) {
	inBubble(t, func(w *world) {
		ask := func(images ...string) []imagelabels.Result {
			var questions []imagelabels.Request
			for _, image := range images {
				questions = append(questions, request(image))
			}
			w.Files(user(1), file, questions)
			synctest.Wait()
			return w.Files(user(1), file, questions)
		}
		got := ask(tagged, "NOT AN IMAGE")
		if _, is := errors.AsType[*imagelabels.ContentError](got[0].Err); !is || got[0].Digest == "" || registry.KindOf(got[0].Err) != registry.NoFile {
			t.Errorf("%+v, want an error about the file", got[0])
		}
		if registry.KindOf(got[1].Err) != registry.InvalidReference {
			t.Errorf("%+v, want an error about the reference", got[1])
		}
		w.registry.set(func() { w.registry.file, w.registry.digest = "spec", "sha256:2" })
		w.notified()
		w.registry.takeRequests()
		<-time.After(7 * time.Hour)
		synctest.Wait()
		if got := w.registry.takeRequests() + fmt.Sprint(w.notified()); got != "head image file[s1]" {
			t.Errorf("after the image was pushed again: %s", got)
		}
		for what, leave := range map[string]func(){"other images": func() { ask(pinned) }, "none": func() { ask() }, "gone": func() { w.Forget(user(1)) }} {
			ask(tagged)
			leave()
			w.registry.takeRequests()
			<-time.After(24 * time.Hour)
			synctest.Wait()
			if got := w.registry.takeRequests(); got != "" {
				t.Errorf("%s: asked %s", what, got)
			}
		}
	})
}
