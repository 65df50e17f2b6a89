// SPDX-License-Identifier: Apache-2.0

package difference

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Some release lines name a database in one field, others in several. The change is reported once.
func TestStateReportsRenamedDatabaseFieldsOnce(t *testing.T) {
	const sql, kv = "storage.backends.sql_default.", "storage.backends.kv_default."
	apart := []Change{{Path: sql + "db", Before: "a"}, {Path: sql + "host", Before: "b"}, {Path: sql + "port", Before: "c"}, {Path: sql + "user", Before: "d"}}
	joined := Change{Path: sql + "connection_string", After: "e"}
	other := Change{Path: kv + "db", Before: "a", After: "f"}
	if diff := cmp.Diff([]string{
		kv + "db changes from a to f", "storage.backends.sql_default names its database in connection_string, no longer in host, port and db",
	}, stateChanges(append([]Change{other, joined}, apart...))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	back := []Change{{Path: joined.Path, Before: joined.After}}
	for _, c := range apart {
		back = append(back, Change{Path: c.Path, After: c.Before})
	}
	if diff := cmp.Diff([]string{"storage.backends.sql_default names its database in host, port and db, no longer in connection_string"}, stateChanges(back)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
