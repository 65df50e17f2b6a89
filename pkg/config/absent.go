// SPDX-License-Identifier: Apache-2.0

package config

import "fmt"

// refuseAbsent reports that the resource asks for something of an API that the release line does not have. It is never left out in
// silence: a server without the moderation that someone asked for is worse than none.
func (g *generation) refuseAbsent(api, path string) {
	absence, _ := g.Line.Absent(api)
	since, mending := "", "remove it"
	switch {
	case absence.GoneSince != "":
		since = fmt.Sprintf(", which is gone since %s", absence.GoneSince)
	case absence.ComesWith != "":
		since = fmt.Sprintf(", which comes with %s", absence.ComesWith)
	}
	if absence.Instead != "" {
		mending += "; " + absence.Instead
	}
	if absence.ComesWith != "" {
		mending += fmt.Sprintf("; or use a distribution of release line %s", absence.ComesWith)
	}
	g.findings.fail(NotAvailable, path, fmt.Sprintf("release line %s has no API %s%s", g.Line.Name, api, since), mending)
}
