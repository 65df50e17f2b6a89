// SPDX-License-Identifier: Apache-2.0

package node

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// waiting is a PVC that the scheduler has assigned to a node.
const waiting = `{
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

func TestProvisionerServesOnlyWhatWaitsForIt(t *testing.T) {
	if c := parse[claim](t, waiting); !c.waits() || c.tooLarge() {
		t.Errorf("waits: %t, too large: %t", c.waits(), c.tooLarge())
	}
	for name, change := range map[string][2]string{
		"no pod uses it yet": {"selected-node", "other"}, "it is of another class": {`"standard"`, `"fast"`}, "it is bound": {`"volumeMode"`, `"volumeName": "pvc-7f", "volumeMode"`},
		"it wants a device": {"Filesystem", "Block"}, "it goes": {`"uid"`, `"deletionTimestamp": "2026-01-01T00:00:00Z", "uid"`},
	} {
		if c := parse[claim](t, strings.Replace(waiting, change[0], change[1], 1)); c.waits() {
			t.Errorf("%s, and it gets a volume", name)
		}
	}
}

func TestProvisionerRefusesWhatIsTooLarge(t *testing.T) {
	c := parse[claim](t, strings.Replace(waiting, "100Gi", "101Gi", 1))
	if message := c.refusal(time.Unix(0, 0))["message"]; !c.tooLarge() || message != "the PVC asks for 101Gi, and this cluster makes volumes of at most 100Gi" {
		t.Errorf("too large: %t; %s", c.tooLarge(), message)
	}
}

func TestProvisionerRemovesOnlyItsOwn(t *testing.T) {
	const released = `{"metadata": {"name": "pvc-7f", "annotations": {"pv.kubernetes.io/provisioned-by": "local.cluster.llamastack.io"}},
		"spec": {"persistentVolumeReclaimPolicy": "Delete"}, "status": {"phase": "Released"}}`
	if !parse[volume](t, released).released() {
		t.Error("a volume whose PVC is gone stays")
	}
	for name, change := range map[string][2]string{
		"it is in use": {"Released", "Bound"}, "it shall be kept": {`"Delete"`, `"Retain"`}, "somebody else made it": {"local.cluster", "other"},
	} {
		if parse[volume](t, strings.Replace(released, change[0], change[1], 1)).released() {
			t.Errorf("%s, and it is removed", name)
		}
	}
}
