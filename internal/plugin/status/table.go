// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

type overview struct {
	Items      []row `json:"items"`
	namespaced bool
}

type row struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Good        bool   `json:"good"`
	Verdict     string `json:"verdict"`
	Phase       string `json:"phase,omitempty"`
	Available   int32  `json:"availableReplicas"`
	Pods        int32  `json:"replicas"`
	ReleaseLine string `json:"releaseLine,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
}

func newOverview(list []v1alpha2.LlamaStackDistribution, namespaced bool) *overview {
	o := &overview{Items: []row{}, namespaced: namespaced}
	for i := range list {
		cr := &list[i]
		r := row{Namespace: cr.Namespace, Name: cr.Name, Phase: string(cr.Status.Phase),
			Available: cr.Status.AvailableReplicas, Pods: cr.Status.Replicas}
		r.Verdict, r.Good = verdict(cr)
		if d := cr.Status.ResolvedDistribution; d != nil {
			r.ReleaseLine = d.ServerLine
		}
		if all := causes(cr); len(all) > 0 && !unobserved(cr) {
			r.Reason, r.Message = all[0].Reason, all[0].Message
		}
		o.Items = append(o.Items, r)
	}
	slices.SortFunc(o.Items, func(a, b row) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	return o
}

const messageBytes = 120

func (o *overview) print(w io.Writer, style cli.Style) error {
	if len(o.Items) == 0 {
		_, err := fmt.Fprintln(w, "no LlamaStackDistributions found")
		return err
	}
	rows := [][]string{{"NAMESPACE", "NAME", "PHASE", "PODS", "RELEASE", "STATE"}}
	for _, r := range o.Items {
		state := style.Good(r.Verdict)
		switch {
		case r.Reason != "":
			state = style.Bad(r.Reason) + ": " + limits.Cut(strings.Join(strings.Fields(r.Message), " "), messageBytes)
		case !r.Good:
			state = style.Bad(r.Verdict)
		}
		rows = append(rows, []string{r.Namespace, r.Name, orDash(r.Phase), fmt.Sprintf("%d/%d", r.Available, r.Pods),
			orDash(r.ReleaseLine), state})
	}
	for i := range rows {
		if o.namespaced {
			rows[i] = rows[i][1:]
		}
	}
	return cli.Table(w, 0, rows)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
