// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"testing"
)

// TestStory runs the parts in this order. Each brings about what it needs, so that a failing part does not hide what the
// others have to say.
func TestStory(t *testing.T) {
	for _, part := range []struct {
		release *release
		name    string
		run     func(*testing.T)
	}{
		{&pinned, "the sample becomes a server that answers with the key of the Secret", sampleBecomesServer},
		{&pinned, "status and kubectl tell what runs", statusReportsRunningVersions},
		{&pinned, "a second provider rolls out once", secondProviderRollsOutOnce},
		{&pinned, "applying the same again writes nothing", sameAgainWritesNothing},
		{&pinned, "wrong edits leave alone what runs", wrongEditsLeaveAloneWhatRuns},
		{&pinned, "a Secret that appears heals by itself", appearingSecretHeals},
		{&pinned, "a rotated key rolls out once and arrives", rotatedKeyRollsOutOnce},
		{&pinned, "status tells the truth about a server that ends", statusIsTrue},
		{&pinned, "scaling to zero and back", scaleToZeroAndBack},
		{&pinned, "an exposed server is reached from outside, and by those whom its policy lets in", exposedServerIsReached},
		{&pinned, "ten edits lose no request", editsLoseNoRequest},
		{&pinned, "a server encrypts, trusts a CA bundle, and changes its certificate", serverEncrypts},
		{&pinned, "a pod is as its sample says", podIsAsTheSampleSays},
		{&pinned, "samples of other fields run", samplesOfOtherFieldsRun},
		{&pinned, "callers need a token of the cluster", callersNeedAToken},
		{&pinned, "clients of users work", clientsOfUsersWork},
		{&pinned, "external providers answer, in a server whose image is labeled", externalProvidersAnswer},
		{&pinned, "the operator runs without privileges", operatorRunsWithoutPrivileges},
		{&pinned, "secret values are nowhere outside Secrets", secretsAreNowhereElse},
		{&pinned, "both versions are served, also while the operator is replaced", bothVersionsAreServed},
		{&pinned, "a restart of the operator writes nothing", operatorRestartWritesNothing},
		{&pinned, "an idle operator asks nothing", idleOperatorAsksNothing},
		{&pinned, "a distribution alone runs with the image's own configuration", distributionAlone},
		{&pinned, "a resource written as v1alpha1 runs", writtenAsV1alpha1},
		{&pinned, "what release 0.9 runs is taken over with its data", release09IsTakenOver},
		{&pinned, "three replicas share one state, and one is drained", replicasShareOneState},
		{&pinned, "a newer release of the server takes over in place", newerReleaseTakesOver},
		{&newest, "a resource that names another image goes on in place", imageOfTheResourceChanges},
		{&newest, "newest release: the sample becomes a server that answers with the key of the Secret", sampleBecomesServer},
		{&newest, "newest release: status and kubectl tell what runs", statusReportsRunningVersions},
		{&newest, "newest release: a second provider rolls out once", secondProviderRollsOutOnce},
		{&newest, "newest release: wrong edits leave alone what runs", wrongEditsLeaveAloneWhatRuns},
		{&newest, "newest release: a rotated key rolls out once and arrives", rotatedKeyRollsOutOnce},
		{&newest, "newest release: status tells the truth about a server that ends", statusIsTrue},
		{&newest, "newest release: scaling to zero and back", scaleToZeroAndBack},
		{&newest, "newest release: a server encrypts, trusts a CA bundle, and changes its certificate", serverEncrypts},
		{&newest, "newest release: clients of users work", clientsOfUsersWork},
		{&newest, "newest release: external providers answer", externalProvidersAnswer},
		{&newest, "newest release: callers need a token of the cluster", callersNeedAToken},
		{&newest, "newest release: secret values are nowhere outside Secrets", secretsAreNowhereElse},
		{&newest, "deleting the resource removes all that it owned", deletingRemovesEverything},
		{&pinned, "the pages by task keep their word", pagesKeepTheirWord},
		{&pinned, "the demo runs in a cluster of the user's", demoHereRuns},
		{&pinned, "the README keeps its word, from installing to removing", readmeCommandsWork},
		{&pinned, "an operator with Roles only stays in its namespaces", namespacedOperatorStays},
	} {
		t.Run(part.name, func(t *testing.T) {
			tell.Part(part.name)
			defer func() { // before a later part changes what there is to see
				if t.Failed() {
					explain(os.Stdout)
				}
			}()
			use(t, part.release)
			part.run(t)
		})
	}
}

// did reports what came true. A part of which something did not ends here.
func did(t *testing.T, format string, args ...any) {
	t.Helper()
	if t.Failed() {
		t.FailNow()
	}
	tell.Did(format, args...)
}
