// SPDX-License-Identifier: Apache-2.0

package addresses

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
)

func self(t *testing.T) process.Identity {
	t.Helper()
	id, err := process.Identify(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

var nobody = process.Identity{PID: 1, Start: "never"}

func take(t *testing.T, x Indexes, dir string, owner process.Identity, used ...netip.Prefix) int {
	t.Helper()
	plan, err := x.Take(t.Context(), dir, owner, used)
	if err != nil {
		t.Fatal(err)
	}
	return plan.Index
}

func TestIndexesAreDistinctUnderConcurrency(t *testing.T) {
	x, owner := Indexes{filepath.Join(t.TempDir(), "claims")}, self(t)
	var wg sync.WaitGroup
	got := make([]int, maxClusters)
	for i := range got {
		wg.Go(func() {
			plan, err := x.Take(t.Context(), fmt.Sprint("/cluster/", i), owner, nil)
			if err != nil {
				t.Error(err)
			}
			got[i] = plan.Index
		})
	}
	wg.Wait()
	seen := map[int]bool{}
	for _, index := range got {
		if seen[index] {
			t.Errorf("index %d was given out twice", index)
		}
		seen[index] = true
	}
	_, err := x.Take(t.Context(), "/one/more", owner, nil)
	if err == nil || !strings.Contains(err.Error(), "taken by the cluster in /cluster/") {
		t.Errorf("all taken: got error %v; want one that names the holders", err)
	}
}

func TestIndexIsKeptReclaimedAndReleased(t *testing.T) {
	x, owner := Indexes{filepath.Join(t.TempDir(), "claims")}, self(t)
	if a, again := take(t, x, "/a", owner), take(t, x, "/a", owner); a != 0 || again != 0 {
		t.Errorf("the cluster's own index: got %d, then %d; want 0 both times", a, again)
	}
	if b := take(t, x, "/b", owner); b != 1 {
		t.Errorf("a second cluster: got %d, want 1", b)
	}
	if err := x.Keep(0, "/a", nobody); err != nil {
		t.Fatal(err)
	}
	if held, err := x.Holds(0, "/a"); err != nil || !held {
		t.Errorf("a dead cluster's claim before anybody took it over: %v, %v; want true", held, err)
	}
	if c := take(t, x, "/c", owner); c != 0 {
		t.Errorf("after the first cluster died: got %d, want its index 0", c)
	}
	if held, err := x.Holds(0, "/a"); err != nil || held {
		t.Errorf("the claim after it was taken over: %v, %v; want false", held, err)
	}
	if err := x.Release(1); err != nil {
		t.Fatal(err)
	}
	if d := take(t, x, "/d", owner); d != 1 {
		t.Errorf("after a release: got %d, want 1", d)
	}
}

func TestIndexAvoidsRangesInUse(t *testing.T) {
	x := Indexes{filepath.Join(t.TempDir(), "claims")}
	if got := take(t, x, "/a", self(t), netip.MustParsePrefix("10.88.0.0/24")); got != 1 {
		t.Errorf("got index %d, want 1: the machine uses the pods' range of 0", got)
	}
	if got := take(t, x, "/b", self(t), netip.MustParsePrefix("10.88.0.0/16")); got != 0 {
		t.Errorf("got index %d, want 0: a wider route does no harm", got)
	}
}
