// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// noID is the random part of an id that no entry has.
var noID = strings.Repeat("0", 48)

// storeRead is a request that reads a store.
type storeRead struct {
	store, path string
	// isSupported reports whether a release line reads the store for the request; nil means all do.
	isSupported func(*catalog.Line) bool
}

// storeReads are requests that read at most one entry, the cheapest for the server first. Other requests cost it
// seconds: it logs a missing entry like an error. Lists of models come from a cache.
var storeReads = []storeRead{
	{"inference", "/v1/chat/completions?limit=1", nil},
	{"files", "/v1/files?limit=1", nil},
	{"prompts", "/v1/prompts", nil},
	{"conversations", "/v1/conversations/conv_" + noID, nil},
	{"metadata", "/v1/models/" + noID, hasPromptsInSQL},
}

// hasPromptsInSQL reports whether the release line keeps prompts in tables. Such lines, from 1.0 on, look up an unknown
// model in the store of metadata.
func hasPromptsInSQL(line *catalog.Line) bool { return line.Stores["prompts"].Kind == catalog.SQL }

// Stores returns the path of a request that reads a store, for each backend in PostgreSQL or Redis that has one.
func Stores(desired *build.Desired, distribution *settings.Distribution) map[string]string {
	if distribution == nil || distribution.Line == nil {
		return nil
	}
	paths := map[string]string{}
	for _, read := range storeReads {
		for _, store := range desired.RemoteStores {
			isRead := store.Name == read.store && (read.isSupported == nil || read.isSupported(distribution.Line))
			if isRead && paths[store.Backend] == "" {
				paths[store.Backend] = read.path
			}
		}
	}
	if len(paths) == 0 {
		return nil
	}
	return paths
}

// setStorageReachable reports whether the server reads its stores in PostgreSQL and Redis.
func setStorageReachable(f *Facts, s *Status) {
	const kind = v1alpha2.ConditionStorageReachable
	last := meta.FindStatusCondition(s.Conditions, kind)
	switch {
	case !f.DeploymentUnknown && !isAvailable(f), f.isApplied() && len(f.Desired.RemoteStores) == 0:
		meta.RemoveStatusCondition(&s.Conditions, kind)
		return
	case !f.isApplied(), f.Server == nil && f.ServerFailure == "":
		if last != nil {
			set(f, s, kind, last.Status, last.Reason, last.Message)
		}
		return
	case f.Server == nil:
		set(f, s, kind, metav1.ConditionUnknown, v1alpha2.ReasonStorageUnknown, "The server could not be asked: "+
			f.ServerFailure)
		return
	}
	var read, failed []serverconfig.RemoteStore
	hidden := false
	for _, store := range f.Desired.RemoteStores {
		switch f.Server.Stores[store.Backend] {
		case serverprobe.StoreRead:
			read = append(read, store)
		case serverprobe.StoreFailed:
			failed = append(failed, store)
		case serverprobe.StoreHidden:
			hidden = true
		case serverprobe.StoreUnknown:
		}
	}
	switch {
	case len(failed) > 0:
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonStorageUnreachable, fmt.Sprintf(
			"The server cannot read its stores %s; the cause is in its log: kubectl llamastack status %s -n %s",
			describeStores(failed), f.CR.Name, f.CR.Namespace))
	case len(read) > 0:
		set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonStorageReachable, "The server reads its stores "+
			describeStores(read))
	case hidden:
		set(f, s, kind, metav1.ConditionUnknown, v1alpha2.ReasonStorageUnknown,
			"The server shows its stores to authenticated callers only: "+describeStores(f.Desired.RemoteStores))
	default:
		set(f, s, kind, metav1.ConditionUnknown, v1alpha2.ReasonStorageUnknown,
			"No request shows whether the server can read its stores "+describeStores(f.Desired.RemoteStores))
	}
}

// describeStores names stores by their backend, with the field of the spec that configures it.
func describeStores(stores []serverconfig.RemoteStore) string {
	var texts []string
	for len(stores) > 0 {
		first := stores[0]
		end := slices.IndexFunc(stores, func(s serverconfig.RemoteStore) bool { return s.Backend != first.Backend })
		if end < 0 {
			end = len(stores)
		}
		var names []string
		for _, store := range stores[:end] {
			names = append(names, store.Name)
		}
		where := "storage backend " + first.Backend
		if first.Field != "" {
			where = first.Field + ", " + where
		}
		texts = append(texts, fmt.Sprintf("%s in %s (%s)", joinWords(slices.Compact(names)), first.Database(), where))
		stores = stores[end:]
	}
	return strings.Join(texts, "; ")
}
