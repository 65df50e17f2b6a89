// SPDX-License-Identifier: Apache-2.0

package register

import (
	"path"
	"regexp"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// dataDir matches a path to the directory of the server's data, which is .llama, or .ogx in newer releases.
var dataDir = regexp.MustCompile(`(~|/[\w./-]*)?/\.(?:llama|ogx)\b(?:[/}'"\s]|$)`)

// mountPath returns the directory of the server's data that a configuration names most often, or the default. The
// operator sets HOME=/, so ~ is the root directory.
func mountPath(configuration string) string {
	best, counts := v1alpha2.DefaultMountPath, map[string]int{}
	for _, match := range dataDir.FindAllString(configuration, -1) {
		at := path.Clean("/" + strings.Trim(match, "~/}'\" \t\r\n"))
		counts[at]++
		if counts[at] > counts[best] {
			best = at
		}
	}
	return best
}
