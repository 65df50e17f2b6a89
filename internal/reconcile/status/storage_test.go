// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// withDatabases returns the facts of an available server with its kv store in Redis and its SQL store in PostgreSQL.
func withDatabases(t *testing.T) *status.Facts {
	t.Helper()
	cr := resource()
	cr.Spec.Storage = &v1alpha2.StateStorageSpec{
		KV: &v1alpha2.KVStorageSpec{Type: new(v1alpha2.KVStorageRedis), Endpoint: new("redis:6379")},
		SQL: &v1alpha2.SQLStorageSpec{Type: new(v1alpha2.SQLStoragePostgres),
			DatabaseConnection: v1alpha2.DatabaseConnection{
				ConnectionString: &v1alpha2.SecretKeyRef{Name: new("pg"), Key: new("dsn")},
			}},
	}
	f := servingWith(t, cr, "postgresql://u:p@db:5432/d")
	f.Server.Stores = map[string]serverprobe.StoreResult{}
	for name := range status.Stores(f.Desired, f.Distribution) {
		f.Server.Stores[name] = serverprobe.StoreRead
	}
	return f
}

// Proves: R95 (Ready is False while the server cannot read a store, and names store, backend and field).
func TestStorageReachableReportsStores(t *testing.T) {
	all := func(result serverprobe.StoreResult) func(*status.Facts) {
		return func(f *status.Facts) {
			for name := range f.Server.Stores {
				f.Server.Stores[name] = result
			}
		}
	}
	for name, c := range map[string]struct {
		edit   func(*status.Facts)
		status metav1.ConditionStatus // empty: absent
		reason string
		texts  []string
	}{
		"all read": {func(*status.Facts) {}, metav1.ConditionTrue, v1alpha2.ReasonStorageReachable,
			[]string{"prompts in Redis (spec.storage.kv, storage backend kv_default)", "conversations", "inference", "spec.storage.sql"}},
		"one fails": {func(f *status.Facts) { f.Server.Stores["sql_default"] = serverprobe.StoreFailed },
			metav1.ConditionFalse, v1alpha2.ReasonStorageUnreachable,
			[]string{"conversations, files, inference and responses in PostgreSQL (spec.storage.sql, storage backend sql_default)",
				"kubectl llamastack status my-stack -n ai"}},
		"all fail": {all(serverprobe.StoreFailed), metav1.ConditionFalse, v1alpha2.ReasonStorageUnreachable,
			[]string{"in Redis (spec.storage.kv", "in PostgreSQL (spec.storage.sql"}},
		"credentials":   {all(serverprobe.StoreHidden), metav1.ConditionUnknown, v1alpha2.ReasonStorageUnknown, []string{"authenticated"}},
		"no such paths": {all(serverprobe.StoreUnknown), metav1.ConditionUnknown, v1alpha2.ReasonStorageUnknown, []string{"No request"}},
		"silent": {func(f *status.Facts) { f.Server, f.ServerFailure = nil, "no response in time" }, metav1.ConditionUnknown,
			v1alpha2.ReasonStorageUnknown, []string{"no response in time"}},
		"not asked yet": {func(f *status.Facts) { f.Server = nil }, metav1.ConditionTrue, "Before", []string{"as it was"}},
		"not available": {func(f *status.Facts) { f.Deployment = deployment(0, 1) }, "", "", nil},
		"files":         {func(f *status.Facts) { f.Desired.RemoteStores = nil }, "", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := withDatabases(t)
			f.CR.Status.Conditions = []metav1.Condition{{
				Type: v1alpha2.ConditionStorageReachable, Status: metav1.ConditionTrue, Reason: "Before", Message: "as it was",
				LastTransitionTime: metav1.Now().Rfc3339Copy(),
			}}
			c.edit(f)
			got := compute(t, f)
			if c.status == "" {
				if found := meta.FindStatusCondition(got.Conditions, v1alpha2.ConditionStorageReachable); found != nil {
					t.Errorf("unexpected %+v", found)
				}
				return
			}
			found := condition(t, &got, v1alpha2.ConditionStorageReachable)
			if found.Status != c.status || found.Reason != c.reason {
				t.Errorf("got %+v", found)
			}
			for _, text := range c.texts {
				if !strings.Contains(found.Message, text) {
					t.Errorf("message %q lacks %q", found.Message, text)
				}
			}
			if ready := condition(t, &got, v1alpha2.ConditionReady); c.status == metav1.ConditionFalse &&
				(ready.Status != metav1.ConditionFalse || ready.Reason != c.reason || ready.Message != found.Message) {
				t.Errorf("Ready is %+v", ready)
			}
		})
	}
}

// Proves: R95 (one request for each backend, which every release line answers).
func TestStoresReadsEachBackendOnce(t *testing.T) {
	for _, name := range catalog.Lines() {
		line, _ := catalog.Get(name)
		got := status.Stores(withDatabases(t).Desired, &settings.Distribution{Line: line})
		want := map[string]string{"sql_default": "/v1/chat/completions?limit=1", "kv_default": "/v1/prompts"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("line %s: %s", name, diff)
		}
	}
	f := withDatabases(t)
	f.Desired.RemoteStores = []serverconfig.RemoteStore{{Name: "metadata", Backend: "kv_default", Type: "kv_redis"}}
	if got := status.Stores(f.Desired, f.Distribution); got != nil {
		t.Errorf("line 0.7 reads metadata only when it starts, got %v", got)
	}
	newest, _ := catalog.Get(catalog.Newest())
	if got := status.Stores(f.Desired, &settings.Distribution{Line: newest}); len(got) != 1 {
		t.Errorf("the newest line: got %v", got)
	}
}
