// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// setBackends reports which models the server lists for the spec's model servers; no release reports their health.
func setBackends(f *Facts, s *Status) {
	const kind = v1alpha2.ConditionBackendsReachable
	providers := modelServers(f)
	switch last := meta.FindStatusCondition(s.Conditions, kind); {
	case !f.DeploymentUnknown && !isAvailable(f), f.isApplied() && len(providers) == 0:
		meta.RemoveStatusCondition(&s.Conditions, kind)
		return
	case !f.isApplied(), f.Server == nil:
		if last != nil {
			set(f, s, kind, last.Status, last.Reason, last.Message)
		}
		return
	case f.Server.Models.Error != "":
		set(f, s, kind, metav1.ConditionUnknown, v1alpha2.ReasonModelsUnknown, f.Server.Models.Error)
		return
	}
	listed := map[string]int32{}
	var names []string
	for _, m := range f.Server.Models.Entries {
		if slices.Contains(providers, m.Provider) {
			listed[m.Provider]++
			names = append(names, m.Name)
		}
	}
	unlisted := slices.DeleteFunc(slices.Clone(providers), func(id string) bool { return listed[id] > 0 })
	if len(unlisted) > 0 {
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonNoModelsListed, "The server lists no models of the providers "+
			""+limits.Names(unlisted))
		return
	}
	//nolint:gosec // package serverprobe bounds the list
	message := fmt.Sprintf("The server lists %s of the providers %s: %s",
		count(int32(len(names)), "model", "models"), limits.Names(providers),
		limits.Names(names))
	if slices.ContainsFunc(providers, func(id string) bool { return listed[id] <= f.Desired.Config.ModelCount }) {
		set(f, s, kind, metav1.ConditionUnknown, v1alpha2.ReasonOnlyRegisteredModels,
			message+"; registered models are listed even if their model servers do not respond")
		return
	}
	set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonModelsListed, message)
}

func modelServers(f *Facts) []string {
	if f.Desired == nil || f.Desired.Config == nil {
		return nil
	}
	var ids []string
	for _, p := range f.Desired.Config.Providers {
		if p.API == "inference" && strings.HasPrefix(p.Type, "remote::") {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	return ids
}
