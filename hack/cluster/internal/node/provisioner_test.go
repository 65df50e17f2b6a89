// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// pendingPVC is a PVC that the scheduler has assigned to a node.
const pendingPVC = `{
  "metadata": {"name": "data", "namespace": "team", "uid": "7f", "annotations": {"volume.kubernetes.io/selected-node": "node"}},
  "spec": {"storageClassName": "standard", "volumeMode": "Filesystem", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "100Gi"}}}
}`

func parse[T any](t *testing.T, text string) (into T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &into); err != nil {
		t.Fatal(err)
	}
	return into
}

func TestProvisionerServesOnlyPendingPVCs(t *testing.T) {
	if c := parse[pvc](t, pendingPVC); !c.pending() || c.tooLarge() {
		t.Errorf("waits: %t, too large: %t", c.pending(), c.tooLarge())
	}
	for name, change := range map[string][2]string{
		"no pod uses it yet": {"selected-node", "other"}, "it is of another class": {`"standard"`, `"fast"`}, "it is bound": {`"volumeMode"`, `"volumeName": "pvc-7f", "volumeMode"`},
		"it requests a block device": {"Filesystem", "Block"}, "it is being deleted": {`"uid"`, `"deletionTimestamp": "2026-01-01T00:00:00Z", "uid"`},
	} {
		if c := parse[pvc](t, strings.Replace(pendingPVC, change[0], change[1], 1)); c.pending() {
			t.Errorf("%s, and it gets a volume", name)
		}
	}
}

func TestProvisionerRejectsTooLargePVCs(t *testing.T) {
	c := parse[pvc](t, strings.Replace(pendingPVC, "100Gi", "101Gi", 1))
	if message := c.rejectionEvent(time.Unix(0, 0))["message"]; !c.tooLarge() || message != "the PVC requests 101Gi, but volumes of this cluster have at most 100Gi" {
		t.Errorf("too large: %t; %s", c.tooLarge(), message)
	}
}

func TestProvisionerRemovesOnlyItsOwnVolumes(t *testing.T) {
	const released = `{"metadata": {"name": "pvc-7f", "annotations": {"pv.kubernetes.io/provisioned-by": "local.cluster.llamastack.io"}},
		"spec": {"persistentVolumeReclaimPolicy": "Delete"}, "status": {"phase": "Released"}}`
	if !parse[volume](t, released).released() {
		t.Error("the volume of a deleted PVC is kept")
	}
	for name, change := range map[string][2]string{
		"it is in use": {"Released", "Bound"}, "its reclaim policy is Retain": {`"Delete"`, `"Retain"`}, "another provisioner created it": {"local.cluster", "other"},
	} {
		if parse[volume](t, strings.Replace(released, change[0], change[1], 1)).released() {
			t.Errorf("%s, and it is removed", name)
		}
	}
}
