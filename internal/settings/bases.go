// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"context"
	"fmt"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
)

// BaseProblems returns what a server refuses or ignores in the registered base configurations, by name. What fails a
// custom resource without any changes is an error, the rest are warnings. It skips bases of unknown release lines.
func (s *Settings) BaseProblems(ctx context.Context) []Problem {
	var list []Problem
	for _, name := range s.Names() {
		e := s.entries[name]
		if e.base == nil || e.err != nil {
			continue
		}
		d, p := s.Resolve(&v1alpha2.DistributionSpec{Name: &name})
		if p != nil || d.Line == nil {
			continue
		}
		where, file := fmt.Sprintf("%s/%s[%s]", ConfigMapName, KeyDistributions, name), "config"
		if e.configMap != "" {
			where, file = "ConfigMap "+e.configMap, keyConfig
		}
		for _, p := range serverconfig.CheckBase(ctx, d.Base, d.Line, d.Release, file) {
			list = append(list, Problem{ConfigMap: e.source(), Warning: p.Warning, Err: fmt.Errorf("%s: %s", where, p.Text)})
		}
	}
	return list
}
