// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Start is how far the start of a pod came.
type Start int

const (
	// Starting is a pod that needs time, such as for pulling its image.
	Starting Start = iota
	// NotPlaced is a pod without a node, or without its volumes or network.
	NotPlaced
	// NotStarted is a pod of which a container cannot be created or started.
	NotStarted
	// Ended is a pod of which a container started and ended, and does not run again.
	Ended
	// Ready is a ready pod.
	Ready
)

// StartOf returns how far the start of a pod came. It reads fields that Strip drops.
func StartOf(p *corev1.Pod) Start {
	switch {
	case IsReady(p):
		return Ready
	case unscheduled(p) != "" || isWithoutSandbox(p):
		return NotPlaced
	case slices.ContainsFunc(p.Status.InitContainerStatuses, hasFailed), slices.ContainsFunc(p.Status.ContainerStatuses,
		cannotStart):
		return NotStarted
	case slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Running == nil && hasEnded(c)
	}):
		return Ended
	}
	return Starting
}

// isWithoutSandbox reports whether a scheduled pod waits for its volumes or its network.
func isWithoutSandbox(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReadyToStartContainers && c.Status == corev1.ConditionFalse
	})
}

// cannotStart reports whether a container cannot be created, or its command cannot be started.
func cannotStart(c corev1.ContainerStatus) bool {
	if w := c.State.Waiting; w != nil && !needsTime(w.Reason) {
		return true
	}
	for _, state := range []corev1.ContainerState{c.State, c.LastTerminationState} {
		if t := state.Terminated; t != nil && slices.Contains([]string{"StartError", "ContainerCannotRun"}, t.Reason) {
			return true
		}
	}
	return false
}

// HasRun reports whether a container of the pod runs or ran.
func HasRun(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil || hasEnded(c)
	})
}

func hasEnded(c corev1.ContainerStatus) bool {
	return c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
}

// hasFailed reports whether an init container cannot start or ended with an error.
func hasFailed(c corev1.ContainerStatus) bool {
	if cannotStart(c) {
		return true
	}
	for _, state := range []corev1.ContainerState{c.State, c.LastTerminationState} {
		if t := state.Terminated; t != nil && t.ExitCode != 0 {
			return !c.Ready
		}
	}
	return false
}
