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
		name string
		run  func(*testing.T)
	}{
		{"the sample becomes a server that answers with the key of the Secret", sampleBecomesServer},
		{"status and kubectl tell what runs", statusTellsWhatRuns},
		{"a second provider rolls out once", secondProviderRollsOutOnce},
		{"applying the same again writes nothing", sameAgainWritesNothing},
		{"wrong edits leave alone what runs", wrongEditsLeaveAloneWhatRuns},
		{"a Secret that appears heals by itself", appearingSecretHeals},
		{"a rotated key rolls out once and arrives", rotatedKeyRollsOutOnce},
		{"status tells the truth about a server that ends", statusTellsTheTruth},
		{"scaling to zero and back", scaleToZeroAndBack},
		{"the operator runs without privileges", operatorRunsWithoutPrivileges},
		{"secret values are nowhere outside Secrets", secretsAreNowhereElse},
		{"both versions are served, also while the operator is replaced", bothVersionsAreServed},
		{"a restart of the operator writes nothing", operatorRestartWritesNothing},
		{"an idle operator asks nothing", idleOperatorAsksNothing},
		{"a distribution alone runs with the image's own configuration", distributionAlone},
		{"a resource written as v1alpha1 runs", writtenAsV1alpha1},
		{"deleting the resource removes all that it owned", deletingRemovesEverything},
		{"the README keeps its word, from installing to removing", readmeKeepsItsWord},
	} {
		t.Run(part.name, func(t *testing.T) {
			tell.Part(part.name)
			defer func() { // before a later part changes what there is to see
				if t.Failed() {
					explain(os.Stdout)
				}
			}()
			part.run(t)
		})
	}
}

// did tells what came true. A part of which something did not ends here.
func did(t *testing.T, format string, args ...any) {
	t.Helper()
	if t.Failed() {
		t.FailNow()
	}
	tell.Did(format, args...)
}
