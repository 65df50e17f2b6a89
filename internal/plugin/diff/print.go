// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

func (r *result) print(w io.Writer, style cli.Style) error {
	for i := range r.Items {
		one := &r.Items[i]
		if one.Empty() {
			continue
		}
		title := one.Namespace + "/" + one.Name
		switch {
		case one.New:
			title += " is new"
		case one.Rejected:
			title += ": the operator rejects what the cluster has, so that an older spec runs; everything is shown as new"
		}
		if _, err := fmt.Fprintln(w, style.Bold(title)); err != nil {
			return err
		}
		printReport(w, style, &one.Report)
	}
	return nil
}
