// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

type part struct {
	name string
	run  func(*testing.T)
}

// chapter is a sequence of parts with one release of the server. The parts about the sample's resource run in sequence;
// those beside them use other namespaces, and parts that replace or measure the operator run alone.
type chapter struct {
	release       *release
	parts, beside []part
}

var story = []chapter{
	{
		release: &pinned,
		parts: []part{
			{"the sample becomes a server that answers with the key of the Secret", sampleBecomesServer},
			{"status and kubectl tell what runs", statusReportsRunningVersions},
			{"a second provider rolls out once", secondProviderRollsOutOnce},
			{"a Secret that appears heals by itself", appearingSecretHeals},
			{"a rotated key rolls out once and arrives", rotatedKeyRollsOutOnce},
			{"status tells the truth about a server that ends", statusIsTrue},
			{"scaling to zero and back", scaleToZeroAndBack},
			{"an exposed server is reached from outside", exposedServerIsReached},
			{"ten edits lose no request", editsLoseNoRequest},
			{"a server encrypts, trusts a CA bundle, and changes its certificate", serverEncrypts},
			{"callers need a token of the cluster", callersNeedAToken},
			{"a pod is as its sample says", podIsAsTheSampleSays},
			{"a resource written as v1alpha1 runs", writtenAsV1alpha1},
			{"a distribution alone runs with the image's own configuration", distributionAlone},
			{"samples of other fields run", samplesOfOtherFieldsRun},
			{"models come from a cache", modelsComeFromACache},
			{"clients of users work", clientsOfUsersWork},
		},
		beside: []part{
			{"external providers answer, in a server whose image is labeled", externalProvidersAnswer},
			{"three replicas share one state, and one is drained", replicasShareOneState},
			{"the pages by task keep their word", pagesKeepTheirWord},
		},
	},
	{
		release: &pinned,
		parts: []part{
			{"the operator runs without privileges", operatorRunsWithoutPrivileges},
			{"secret values are nowhere outside Secrets", secretsAreNowhereElse},
			{"both versions are served, also while the operator is replaced", bothVersionsAreServed},
			{"an idle operator asks nothing", idleOperatorAsksNothing},
			{"an edit takes few reconciles", editTakesFewReconciles},
			{"what release 0.9 runs is taken over with its data", release09IsTakenOver},
			{"a newer release of the server takes over in place", newerReleaseTakesOver},
		},
	},
	{
		release: &newest,
		parts: []part{
			{"newest release: the sample becomes a server that answers with the key of the Secret", sampleBecomesServer},
			{"newest release: status and kubectl tell what runs", statusReportsRunningVersions},
			{"newest release: a second provider rolls out once", secondProviderRollsOutOnce},
			{"newest release: a rotated key rolls out once and arrives", rotatedKeyRollsOutOnce},
			{"newest release: status tells the truth about a server that ends", statusIsTrue},
			{"newest release: scaling to zero and back", scaleToZeroAndBack},
			{"newest release: a server encrypts, trusts a CA bundle, and changes its certificate", serverEncrypts},
		},
		beside: []part{
			{"a resource that names another image goes on in place", imageOfTheResourceChanges},
			{"newest release: clients of users work", clientsOfUsersWork},
			{"newest release: external providers answer", externalProvidersAnswer},
		},
	},
	{
		release: &newest,
		parts: []part{
			{"newest release: callers need a token of the cluster", callersNeedAToken},
			{"newest release: secret values are nowhere outside Secrets", secretsAreNowhereElse},
			{"deleting the resource removes all that it owned", deletingRemovesEverything},
		},
	},
	{
		release: &pinned,
		parts: []part{
			{"the demo runs in a cluster of the user's", demoHereRuns},
			{"the README keeps its word, from installing to removing", readmeCommandsWork},
			{"an operator with Roles only stays in its namespaces", namespacedOperatorStays},
		},
	},
}

// TestStory runs the chapters in order; each part sets up what it needs, so it runs even if an earlier one failed.
func TestStory(t *testing.T) {
	for _, c := range story {
		var both sync.WaitGroup
		if len(c.beside) == 0 {
			c.tell(t, "", c.parts)
			continue
		}
		both.Go(func() { c.tell(t, "1| ", c.parts) })
		both.Go(func() { c.tell(t, "2| ", c.beside) })
		both.Wait()
	}
}

// explaining serializes the explanations of failures.
var explaining sync.Mutex

func (c *chapter) tell(t *testing.T, mark string, parts []part) {
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) {
			operates.RLock()
			defer operates.RUnlock()
			begin(t, mark, p.name)
			defer func() { // before a later part changes the state
				if t.Failed() {
					explaining.Lock()
					defer explaining.Unlock()
					explain(os.Stdout)
				}
			}()
			use(t, c.release)
			p.run(t)
		})
	}
}

// operates is read-locked by each part that relies on the operator, and locked by a part that stops it.
var operates sync.RWMutex

// alone runs do, which stops the operator, while no other part relies on the operator.
func alone(do func()) {
	operates.RUnlock()
	operates.Lock()
	defer func() {
		operates.Unlock()
		operates.RLock()
	}()
	do()
}

// begun has the parts by the names of their tests.
var begun sync.Map

func begin(t *testing.T, mark, title string) {
	t.Helper()
	begun.Store(t.Name(), tell.Part(mark, title))
}

// did reports a passed step; the part ends here if the test has failed.
func did(t *testing.T, format string, args ...any) {
	t.Helper()
	if t.Failed() {
		t.FailNow()
	}
	for name := t.Name(); ; name = name[:max(0, strings.LastIndexByte(name, '/'))] {
		if p, ok := begun.Load(name); ok {
			p.(*framework.Part).Done(format, args...)
			return
		}
		if name == "" {
			t.Fatal("no part has begun")
		}
	}
}
