// SPDX-License-Identifier: Apache-2.0

package imagelabels_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
)

const providers = 20 // of one custom resource

// controller requests the files of images after each event of a custom resource, as reconciles do.
type controller struct {
	*world
	images map[types.NamespacedName][]string
	last   map[types.NamespacedName][]imagelabels.Result
	// reconciles counts the reconciles after events, up to limit.
	reconciles, limit int
}

func (w *world) newController() *controller {
	return &controller{world: w, images: map[types.NamespacedName][]string{}, last: map[types.NamespacedName][]imagelabels.Result{}, limit: 20_000}
}

// add creates a custom resource.
func (c *controller) add(namespace, name string, images ...string) types.NamespacedName {
	user := types.NamespacedName{Namespace: namespace, Name: name}
	c.images[user] = images
	c.reconcile(user)
	return user
}

func (c *controller) reconcile(user types.NamespacedName) {
	var questions []imagelabels.Request
	for _, image := range c.images[user] {
		questions = append(questions, request(image))
	}
	c.last[user] = c.Files(user, file, questions)
}

// settle handles events until none is pending.
func (c *controller) settle() {
	for {
		synctest.Wait()
		select {
		case user := <-c.told:
			c.reconciles++
			if c.reconciles > c.limit {
				return
			}
			c.reconcile(user)
		default:
			return
		}
	}
}

// run advances the clock and handles events.
func (c *controller) run(long time.Duration) {
	for end := time.Now().Add(long); time.Now().Before(end) && c.reconciles <= c.limit; <-time.After(time.Second) {
		c.settle()
	}
}

// countResults returns the number of results of a custom resource that are not pending.
func (c *controller) countResults(user types.NamespacedName) (count int) {
	for _, a := range c.last[user] {
		if !a.Pending {
			count++
		}
	}
	return count
}

// images returns images of different registries.
func images(of string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s-%d.example.com/team/provider:1", of, i))
	}
	return all
}

// flood creates custom resources with the maximum number of providers.
func (c *controller) flood(namespace string, resources int) (users []types.NamespacedName) {
	for n := range resources {
		users = append(users, c.add(namespace, fmt.Sprint("s", n), images(fmt.Sprint(namespace, "-", n), providers)...))
	}
	return users
}

// Proves: R63, L-03, NFR-006 (images without a response are retried in turn, with few reconciles).
func TestUnavailableImagesCauseFewReconciles(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.hangs = "hostile"
		c := w.newController()
		c.flood("hostile", 30)
		c.run(5 * time.Minute)
		if c.reconciles > 100 {
			t.Errorf("%d reconciles in five minutes in which a registry answered for 20 images", c.reconciles)
		}
		if asked := strings.Count(w.registry.takeRequests(), "image"); asked > 30 {
			t.Errorf("asked %d times; four at once, for a minute each", asked)
		}
	})
}

// Proves: R63, L-03 (a namespace over its share delays no other and evicts no result in use).
func TestEachNamespaceHasAShare(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.hangs, w.registry.file = "hostile", strings.Repeat("a", 60<<10)
		c := w.newController()
		before := c.add("theirs", "before", images("theirs", providers)...)
		c.settle()
		c.flood("hostile", 30)
		c.flood("greedy", 30) // its registries respond with more bytes than are cached
		c.settle()
		w.registry.takeRequests()
		after := c.add("theirs", "after", images("theirs-after", providers)...)
		c.reconcile(before)
		c.settle()
		if c.countResults(before) != providers || c.countResults(after) != providers {
			t.Errorf("answers of %d and %d images, want %d each, at once", c.countResults(before), c.countResults(after), providers)
		}
		if asked := strings.Count(w.registry.takeRequests(), "file"); asked != providers {
			t.Errorf("asked for %d files, want those of the new one", asked)
		}
		c.run(time.Minute)
		if c.reconciles > 2_000 {
			t.Errorf("%d reconciles for 640 images with an answer", c.reconciles)
		}
	})
}

// Proves: R63, NFR-006.
func TestManyImagesOfANamespaceAreRequestedOnce(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.hangs, w.registry.file = "many", "kind: ProviderPackage"
		c := w.newController()
		users := c.flood("many", 50)
		c.settle()
		gone := users[48]
		delete(c.images, gone)
		w.Forget(gone)
		c.images[users[49]] = c.images[users[49]][:1] // an edit
		c.reconcile(users[49])
		w.registry.set(func() { w.registry.hangs = "" })
		c.run(time.Hour)
		for _, user := range users {
			if want := len(c.images[user]); user != gone && c.countResults(user) != want {
				t.Errorf("%s: %d of %d images have an answer", user, c.countResults(user), want)
			}
		}
		if asked := strings.Count(w.registry.takeRequests(), "file"); asked > 981 || c.reconciles > 2_000 {
			t.Errorf("asked for %d files in %d reconciles, want 961 and at most some that were hanging before", asked, c.reconciles)
		}
		c.run(time.Hour)
		if asked := w.registry.takeRequests(); asked != "" {
			t.Errorf("asked in the second hour, when all have their answers: %s", asked)
		}
	})
}

// Proves: R63 (a request for a shared image does not wait behind the other requests of another namespace).
func TestSharedImageWaitsInNamespaceWithFewestRequests(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.hangs, w.registry.file = "hostile", "kind: ProviderPackage"
		c := w.newController()
		c.flood("hostile", 2)
		c.add("hostile", "shared", other)
		c.settle()
		mine := c.add("theirs", "mine", other)
		c.reconcile(types.NamespacedName{Namespace: "hostile", Name: "shared"})
		c.settle()
		if c.countResults(mine) != 1 {
			t.Error("the image waits behind those of another namespace")
		}
	})
}

// Proves: R63, R46 (the results for one custom resource fit into the cache).
func TestLargeResultsAreNotRequestedRepeatedly(t *testing.T) {
	inBubble(t, func(w *world) {
		w.registry.file = strings.Repeat("a", 1_000_000)
		c := w.newController()
		user := c.add("ai", "large", images("large", providers)...)
		c.run(10 * time.Minute)
		if c.reconciles > 2*providers || c.countResults(user) != providers {
			t.Errorf("%d reconciles, %d answers", c.reconciles, c.countResults(user))
		}
		for _, a := range c.last[user] {
			if a.Err == nil || !strings.Contains(a.Err.Error(), "is larger than 65536 bytes") || len(a.Content) > 0 {
				t.Fatalf("%d bytes, %v", len(a.Content), a.Err)
			}
		}
		w.registry.set(func() {
			w.registry.labels = map[string]string{oci.LabelDistributionVersion: "1.4.0+" + strings.Repeat("a", 1_000_000)}
		})
		if a := w.labels(user, request(tagged)); a.Err == nil || !strings.Contains(a.Err.Error(), "label com.ogx.distribution.version is longer than 1024 bytes") {
			t.Errorf("%v", a.Err)
		}
	})
}
