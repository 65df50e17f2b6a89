// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// setAccessControlled reports whether a server with authentication refuses the operator, which has no credentials.
func setAccessControlled(f *Facts, s *Status) {
	const kind = v1alpha2.ConditionAccessControlled
	switch last := meta.FindStatusCondition(s.Conditions, kind); {
	case !f.DeploymentUnknown && !isAvailable(f), f.isApplied() && f.Desired.Auth().Type == "":
		meta.RemoveStatusCondition(&s.Conditions, kind)
	case f.isApplied() && f.ServerFailure != "":
		set(f, s, kind, metav1.ConditionUnknown, v1alpha2.ReasonAccessUnknown,
			"The server could not be probed: "+f.ServerFailure)
	case !f.isApplied(), f.Server == nil:
		if last != nil {
			set(f, s, kind, last.Status, last.Reason, last.Message)
		}
	case len(openLists(f)) > 0:
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonAnswersAnyone, "The server lists its "+joinWords(openLists(f))+
			" to callers without credentials, although its configuration has authentication "+f.Desired.Auth().Type)
	default:
		set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonCredentialsRequired,
			"The server requires credentials (authentication "+f.Desired.Auth().Type+")")
	}
}

// openLists returns the lists that the server shows without credentials.
func openLists(f *Facts) []string {
	var open []string
	if !f.Server.ProvidersHidden {
		open = append(open, "providers")
	}
	for _, kind := range resourceKinds {
		listed, requested := f.Server.Lists[kind.list]
		if kind.displayName == "models" {
			listed, requested = f.Server.Models, true
		}
		if requested && listed.Error == "" && !slices.Contains(open, kind.displayName) {
			open = append(open, kind.displayName)
		}
	}
	return open
}
