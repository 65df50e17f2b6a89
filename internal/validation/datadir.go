// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"path"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
)

// DataDirs describes the mount paths that IsDataDir accepts.
const DataDirs = "an absolute path other than /, " + names.ConfigDir + " and " + names.TmpDir

// IsDataDir reports whether the server's data can be mounted at a path.
func IsDataDir(at string) bool {
	clean := path.Clean(at)
	return path.IsAbs(at) && !strings.Contains(at, ":") && clean != "/" && clean != names.ConfigDir &&
		clean != names.TmpDir
}
