// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestDialWithoutKubeconfig(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "absent"))
	if _, err := Dial(&Flags{}); !errors.Is(err, errNoKubeconfig) {
		t.Errorf("%v, want %v", err, errNoKubeconfig)
	}
}
