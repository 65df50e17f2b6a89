// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// explanation is why a pod is not ready, and what to do. It is empty if the pod only needs time.
type explanation struct{ text, remedy string }

// Explain returns the reason and the remedy in one text, or "".
func (o *Observation) Explain() string {
	if o.Remedy == "" {
		return o.NotReady
	}
	return o.NotReady + RemedyMark + o.Remedy
}

// logHasCause begins the remedy whose command needs the pod.
const logHasCause = "its log has the cause"

// ExplainReplaced is Explain for a pod that is about to be replaced, and its log with it.
func (o *Observation) ExplainReplaced() string {
	if !strings.HasPrefix(o.Remedy, logHasCause) {
		return o.Explain()
	}
	return o.NotReady + RemedyMark + "its log went with the pod: to keep the pod, try again with " +
		"spec.workload.rollback: Never"
}

// RemedyMark separates a reason from its remedy.
const RemedyMark = "; "

const (
	raiseMemory = "raise spec.workload.resources.requests.memory to what it uses"
	useMirror   = ", or use a mirror"
)

// remedyRule maps parts of messages of the scheduler, the kubelet and registries to a remedy.
type remedyRule struct {
	parts  []string
	remedy string
}

// remedyFor returns the remedy of the first rule with a part in the message, in lower case.
func remedyFor(message string, rules []remedyRule) string {
	message = strings.ToLower(message)
	for _, rule := range rules {
		if slices.ContainsFunc(rule.parts, func(part string) bool { return strings.Contains(message, part) }) {
			return rule.remedy
		}
	}
	return ""
}

var insufficient = regexp.MustCompile(`Insufficient ([\w./-]+\w)`)

// explainUnscheduled adds what the pod requests of the resources that no node has.
func explainUnscheduled(text string, p *corev1.Pod) explanation {
	var asked []string
	for _, match := range insufficient.FindAllStringSubmatch(text, -1) {
		if requested := requests(p, corev1.ResourceName(match[1])); !requested.IsZero() {
			asked = append(asked, match[1]+" "+requested.String())
		}
	}
	if len(asked) > 0 {
		slices.Sort(asked)
		text += "; the pod requests " + strings.Join(slices.Compact(asked), ", ")
	}
	remedy := remedyFor(text, []remedyRule{
		{[]string{"persistentvolumeclaim", "persistent volume", "volume node affinity"},
			"see why its volume is missing: kubectl -n " + p.Namespace + " describe pvc"},
		{[]string{"insufficient "}, "lower spec.workload.resources.requests, or add a node with that much"},
		{[]string{"too many pods"}, "add a node"},
		{[]string{"node affinity/selector"}, "correct spec.workload.scheduling.nodeSelector or affinity, or label a node"},
		{[]string{"anti-affinity", "pod affinity"}, "change spec.workload.scheduling.affinity, or add a node"},
		{[]string{"topology spread"}, "change spec.workload.topologySpreadConstraints, or add a node"},
		{[]string{"untolerated taint"}, "add the taint to spec.workload.scheduling.tolerations"},
		{[]string{""}, "change spec.workload.resources or spec.workload.scheduling, or add a node"},
	})
	return explanation{text, remedy}
}

// requests returns what a pod requests: the sum of its containers, or the largest init container.
func requests(p *corev1.Pod, name corev1.ResourceName) *resource.Quantity {
	total := &resource.Quantity{}
	for i := range p.Spec.Containers {
		total.Add(p.Spec.Containers[i].Resources.Requests[name])
	}
	for i := range p.Spec.InitContainers {
		if q := p.Spec.InitContainers[i].Resources.Requests[name]; q.Cmp(*total) > 0 {
			*total = q
		}
	}
	return total
}

// explainEnd returns the explanation of a pod that was evicted or ended otherwise.
func explainEnd(reason, message string) explanation {
	return explanation{sentence(reason, message), remedyFor(message, []remedyRule{
		{[]string{"ephemeral", "emptydir"}, "raise spec.workload.resources for ephemeral-storage, or set " +
			"spec.workload.storage, which puts the server's files on a volume"},
		{[]string{"resource: memory"}, raiseMemory},
		{[]string{"preempt"}, "set spec.workload.scheduling.priorityClassName, or add a node"},
	})}
}

// explainPull returns the explanation of an image that cannot be pulled.
func explainPull(image, message string) explanation {
	named := "the image " + limits.Cut(image, maxMessage)
	if organization := settings.RemovedFrom(image); organization != "" {
		return explanation{fmt.Sprintf("%s: organization %s was removed from its registry, so image %s cannot be pulled",
			pullBackOff, organization, limits.Cut(image, maxMessage)), settings.ImageAdvice}
	}
	e := explanation{text: sentence(pullBackOff, message)}
	if source := settings.UnverifiedSource(image); source != "" {
		e.text += "; the image is " + source
		e.remedy = settings.ImageAdvice
		return e
	}
	e.remedy = remedyFor(message, []remedyRule{
		{[]string{"toomanyrequests", "too many requests", "rate limit"},
			"wait until the registry allows more pulls, log in with spec.workload.imagePullSecrets" + useMirror},
		{[]string{"denied", "unauthorized", "authorization failed", "authentication required", "401", "403", "no basic auth"},
			"correct the name of " + named + ", or name a Secret with access to its registry in " +
				"spec.workload.imagePullSecrets"},
		{[]string{"no such host", "dial tcp", "i/o timeout", "connection refused", "x509", "tls:", "deadline exceeded"},
			"make the registry of " + named + " reachable from the node" + useMirror},
		{[]string{""}, correctImage(image)},
	})
	return e
}

func correctImage(image string) string {
	return strings.TrimSuffix("correct the name or the tag of the image "+limits.Cut(image, maxMessage), " ")
}

// explainOutOfMemory returns the explanation of a container that the kernel killed, with its limit.
func explainOutOfMemory(subject, text, container string, p *corev1.Pod) explanation {
	var sizes corev1.ResourceRequirements
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			if list[i].Name == container {
				sizes = list[i].Resources
			}
		}
	}
	requested := sizes.Requests[corev1.ResourceMemory]
	e := explanation{text + ": its node ran out of memory; it requests " + requested.String() + " and has no limit",
		raiseMemory}
	if limit, limited := sizes.Limits[corev1.ResourceMemory]; limited {
		e = explanation{text + ": it used more than its memory limit of " + limit.String(),
			"raise spec.workload.resources.limits.memory"}
	}
	if subject != theServer {
		e.remedy = "raise the memory that container " + container + " requests or may use"
	}
	return e
}

// waitingRemedy returns the remedy for a container that cannot be created.
func waitingRemedy(c *corev1.ContainerStatus) string {
	if c.State.Waiting.Reason == invalidImage {
		return correctImage(c.Image)
	}
	return remedyFor(c.State.Waiting.Message, []remedyRule{
		{[]string{"executable file not found", "no such file or directory"}, "correct spec.workload.overrides.command"},
		{[]string{"not found", "couldn't find key"}, "create it, or correct its name in the spec"},
	})
}
