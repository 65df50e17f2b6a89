// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	explainTimeout = time.Minute
	explainLines   = "60"
)

// explain prints custom resources, pods, events and the ends of logs after a failure. It reads no Secret.
func explain(w io.Writer) {
	ctx, cancel := context.WithTimeout(context.Background(), explainTimeout)
	defer cancel()
	show := func(args ...string) {
		out, err := cluster.KubectlRun(ctx, args...)
		if err != nil {
			out = err.Error() + "\n"
		}
		_, _ = fmt.Fprintf(w, "\n--- kubectl %v\n%s", args, out)
	}
	show("get", "llsd,deployments,replicasets,pods,configmaps", "-A", "-o", "wide")
	show("get", "llsd", "-A", "-o", "yaml")
	show("get", "events", "-A", "--sort-by=.metadata.creationTimestamp")
	if kube == nil {
		return
	}
	var pods corev1.PodList
	if err := kube.List(ctx, &pods); err != nil {
		_, _ = fmt.Fprintln(w, err)
		return
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		show("-n", p.Namespace, "logs", p.Name, "--all-containers", "--tail", explainLines)
		if len(p.Status.ContainerStatuses) > 0 && p.Status.ContainerStatuses[0].RestartCount > 0 {
			show("-n", p.Namespace, "logs", p.Name, "--previous", "--tail", explainLines)
		}
	}
}
