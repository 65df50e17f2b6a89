// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"io"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

func (r *result) print(w io.Writer, style cli.Style) error {
	for i := range r.Items {
		item := &r.Items[i]
		if item.Empty() {
			continue
		}
		title := item.Namespace + "/" + item.Name
		switch {
		case item.New:
			title += " is new"
		case item.Rejected:
			title += ": the operator rejects the spec in the cluster, so an older one is in use; everything is shown as new"
		}
		if _, err := fmt.Fprintln(w, style.Bold(title)); err != nil {
			return err
		}
		printReport(w, style, &item.Report)
	}
	return nil
}
