// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
)

// podLog has lines of the log of a container.
type podLog struct {
	Pod       string `json:"pod"`
	Container string `json:"container"`
	// Databases means that the container runs, and the lines are errors of databases; otherwise they are the log's end.
	Databases bool     `json:"databases,omitempty"`
	Lines     []string `json:"lines"`
}

const (
	// logLines bounds the lines of a log, and lineBytes and logBytes their bytes.
	logLines  = int64(10)
	lineBytes = 300
	logBytes  = int64(64 << 10)
)

func (f *facts) container() string {
	return cmp.Or(v1alpha2.Legacy(f.cr).ContainerName, names.ContainerName)
}

// readLog reads the end of the log of the newest container that ended, with the permissions of the user.
func (f *facts) readLog(ctx context.Context, c *cluster.Connection) {
	p := f.newestUnready()
	if p == nil {
		return
	}
	ended := endedContainer(p, f.container())
	if ended == nil {
		return
	}
	lines := logLines
	end := f.readLines(ctx, c, p, logBytes, &corev1.PodLogOptions{
		Container: ended.Name, Previous: ended.State.Terminated == nil, TailLines: &lines,
	})
	if len(end) > 0 {
		f.log = &podLog{Pod: p.Name, Container: ended.Name, Lines: end}
	}
}

// readLines reads lines of a log up to a limit of bytes, and cuts long ones.
func (f *facts) readLines(
	ctx context.Context, c *cluster.Connection, p *corev1.Pod, maxBytes int64, o *corev1.PodLogOptions,
) []string {
	stream, err := c.Logs(ctx, p.Namespace, p.Name, o)
	var text []byte
	if err == nil {
		text, err = io.ReadAll(io.LimitReader(stream, maxBytes))
		_ = stream.Close()
	}
	switch {
	case apierrors.IsForbidden(err):
		f.unread = append(f.unread, "the log of pod "+p.Name+": no permission to read it")
	case err != nil:
		f.unread = append(f.unread, "the log of pod "+p.Name+": "+err.Error())
	case len(text) > 0:
		return cutLines(string(text))
	}
	return nil
}

// newestUnready returns the newest pod that is not ready, or nil. Pods that ended and terminating ones do not count.
func (f *facts) newestUnready() *corev1.Pod {
	var newest *corev1.Pod
	for i := range f.pods {
		p := &f.pods[i]
		if p.DeletionTimestamp == nil && !pods.HasEnded(p) && !pods.IsReady(p) &&
			(newest == nil || newest.CreationTimestamp.Before(&p.CreationTimestamp)) {
			newest = p
		}
	}
	return newest
}

// endedContainer returns the container that ended, the server's first, or nil.
func endedContainer(p *corev1.Pod, server string) *corev1.ContainerStatus {
	list := slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses)
	var found *corev1.ContainerStatus
	for i := range list {
		s := &list[i]
		ended := !s.Ready && cmp.Or(s.State.Terminated, s.LastTerminationState.Terminated) != nil
		if ended && (found == nil || s.Name == server) {
			found = s
		}
	}
	return found
}

// explain gives the causes that come from the pods the remedy of the pods.
func (f *facts) explain(list []cause) []cause {
	found, remedy := f.podCause()
	if remedy == "" {
		return list
	}
	for i := range list {
		if c := &list[i]; isPodReason(c.Reason) {
			c.Message, c.Remedy = strings.Replace(c.Message, pods.RemedyMark+remedy, "", 1), remedy
			if found != "" {
				c.Message += "; " + found
			}
		}
	}
	return list
}

// isPodReason reports whether a cause with the reason comes from the pods.
func isPodReason(reason string) bool {
	return slices.Contains(v1alpha2.RolloutReasons(), reason) || reason == v1alpha2.ReasonRolloutStuck ||
		reason == v1alpha2.ReasonServerUnavailable
}

// podCause returns the remedy for the pods, and what only Events have of the cause.
func (f *facts) podCause() (found, remedy string) {
	if o := pods.Observe(f.pods, f.container(), nil); o.Remedy != "" {
		return "", o.Remedy
	}
	if d := f.deployment(); d != nil {
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
				return "", status.RefusedRemedy
			}
		}
	}
	return f.failingProbe()
}

// failingProbe returns the last failure of a probe of the newest pod that is not ready, and its remedy.
func (f *facts) failingProbe() (found, remedy string) {
	p := f.newestUnready()
	if p == nil {
		return "", ""
	}
	var last event
	for i := range f.events {
		e := &f.events[i]
		next := newEvent(e)
		if e.Reason == "Unhealthy" && e.InvolvedObject.Name == p.Name && !next.Last.Before(last.Last) {
			last = next
		}
	}
	logs := fmt.Sprintf("kubectl llamastack logs %s -n %s", f.cr.Name, f.cr.Namespace)
	startup, readiness := probes(p, f.container())
	switch {
	case strings.HasPrefix(last.Message, "Startup") && startup != nil:
		each := time.Duration(startup.PeriodSeconds) * time.Second
		return fmt.Sprintf("%s (%d times of %d, each %s)", last.Message, last.Count, startup.FailureThreshold, each),
			fmt.Sprintf("the server has %s to start, then it is restarted. Its log says what it does: %s",
				each*time.Duration(startup.FailureThreshold), logs)
	case last.Reason != "" && readiness != nil:
		return fmt.Sprintf("%s (%d times, each %s)", last.Message, last.Count,
			time.Duration(readiness.PeriodSeconds)*time.Second), "see why it does not answer: " + logs
	}
	return "", ""
}

func probes(p *corev1.Pod, container string) (startup, readiness *corev1.Probe) {
	for i := range p.Spec.Containers {
		if c := &p.Spec.Containers[i]; c.Name == container {
			return c.StartupProbe, c.ReadinessProbe
		}
	}
	return nil, nil
}
