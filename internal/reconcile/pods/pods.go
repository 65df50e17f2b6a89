// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/go-containerregistry/pkg/name"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// maxMessage bounds one reason in bytes.
const maxMessage = 300

// Observation has the facts about a server's pods.
type Observation struct {
	// NotReady is the reason of the newest pod that is not ready; empty if all are ready or the pod only needs time.
	NotReady string
	// Remedy says what to do about NotReady; may be empty.
	Remedy string
	// ImageDigest is the image digest of the newest ready pod; empty if unknown.
	ImageDigest string
	// Existing has the UIDs of all pods, also terminating ones, in one text that changes with the set of pods.
	Existing string
	// Newest is the creation of the newest pod that neither terminates nor ended; zero if there is none.
	Newest time.Time
	// OtherSecrets reports that a terminating pod with other, unknown secret values may still respond.
	OtherSecrets bool
}

// Secrets are the known secret values of the pods.
type Secrets struct {
	// Hash is the value of names.AnnotationSecretsHash on pods with these values.
	Hash   string
	Values []secret.Value
}

// matches reports whether the pod has exactly these values.
func (s *Secrets) matches(p *corev1.Pod) bool {
	return s != nil && p.Annotations[names.AnnotationSecretsHash] == s.Hash
}

func (s *Secrets) values() []secret.Value {
	if s == nil {
		return nil
	}
	return s.Values
}

// plainConfigError matches the kubelet's messages about a container that quote no variable's value.
var plainConfigError = regexp.MustCompile(
	`^((secret|configmap) "[^"]*" not found|couldn't find key \S+ in (Secret|ConfigMap) \S+|container has runAsNonRoot and image .*)$`,
)

// Observe returns the facts about a server's pods; container is the name of the server's container.
func Observe(list []corev1.Pod, container string, known *Secrets) Observation {
	var o Observation
	newest := slices.SortedFunc(slices.Values(list), func(a, b corev1.Pod) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(a.Name, b.Name))
	})
	replaced := false              // a later pod became ready
	var unscheduledPod *corev1.Pod // the newest pod, if unschedulable, until its predecessor is explained
	for i := range newest {
		p := &newest[i]
		o.Existing += string(p.UID) + " "
		if p.DeletionTimestamp == nil && !HasEnded(p) && o.Newest.IsZero() {
			o.Newest = p.CreationTimestamp.Time
		}
		o.OtherSecrets = o.OtherSecrets || p.DeletionTimestamp != nil && !HasEnded(p) && !known.matches(p)
		switch {
		case p.DeletionTimestamp != nil:
		case HasEnded(p) && replaced: // Kubernetes keeps thousands of them
		case IsReady(p):
			replaced = true
			o.ImageDigest = cmp.Or(o.ImageDigest, digest(p, container))
		case o.NotReady == "":
			why := notReady(p, container, known)
			o.NotReady, o.Remedy = why.text, why.remedy
			if unscheduled(p) != "" {
				unscheduledPod = p
			}
		case unscheduledPod != nil && isReplacedBy(p, unscheduledPod):
			o.NotReady += "; the previous pod: " + notReady(p, container, known).text
			unscheduledPod = nil
		}
	}
	return o
}

// replacementTime bounds the time between a pod's end and its replacement's creation, by two clocks in whole seconds.
const replacementTime = time.Minute

// isReplacedBy reports whether a pod was disrupted and next replaces it; older ended pods do not count.
func isReplacedBy(p, next *corev1.Pod) bool {
	c := disruption(p)
	return c != nil && next.CreationTimestamp.Sub(c.LastTransitionTime.Time).Abs() <= replacementTime
}

// HasEnded reports whether a pod ended. An evicted pod has the phase Succeeded if its server exits cleanly.
func HasEnded(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded
}

// disruption returns the condition of a disruption that ended a pod, or nil.
func disruption(p *corev1.Pod) *corev1.PodCondition {
	if !HasEnded(p) {
		return nil
	}
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// IsReady reports whether a pod is ready.
func IsReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// digest returns the digest of the server's image, or "" for an image without registry.
func digest(p *corev1.Pod, container string) string {
	for i := range p.Status.ContainerStatuses {
		if c := &p.Status.ContainerStatuses[i]; c.Name == container {
			_, digest, _ := strings.Cut(c.ImageID, "@")
			return digest
		}
	}
	return ""
}

// notReady returns why a pod is not ready, by the scheduler, the kubelet or a container; retries do not change the
// text.
func notReady(p *corev1.Pod, container string, known *Secrets) explanation {
	if p.Status.Reason != "" { // such as Evicted
		return explainEnd(p.Status.Reason, p.Status.Message)
	}
	if c := disruption(p); c != nil {
		return explainEnd(c.Reason, c.Message)
	}
	if reason := unscheduled(p); reason != "" {
		return explainUnscheduled(reason, p)
	}
	statuses := slices.Clone(p.Status.InitContainerStatuses)
	statuses = append(statuses, p.Status.ContainerStatuses...)
	slices.SortStableFunc(statuses, func(a, b corev1.ContainerStatus) int {
		return boolCompare(a.Name != container, b.Name != container)
	})
	for i := range statuses {
		c := &statuses[i]
		subject := theServer
		if c.Name != container {
			subject = "container " + c.Name
		}
		if why := containerReason(c, subject, p, known); why.text != "" {
			return why
		}
	}
	return explanation{}
}

// unscheduled returns why no node takes the pod, or "".
func unscheduled(p *corev1.Pod) string {
	for i := range p.Status.Conditions {
		if c := &p.Status.Conditions[i]; c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse &&
			c.Reason != "" {
			return sentence(c.Reason, unschedulable(c.Message))
		}
	}
	return ""
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

const pullBackOff = "ImagePullBackOff"

// isPullFailure reports whether an image cannot be pulled; the two reasons alternate.
func isPullFailure(reason string) bool { return reason == "ErrImagePull" || reason == pullBackOff }

// pullFailure extracts the cause of a failed pull from the kubelet's message.
func pullFailure(message string) string {
	if _, cause, found := strings.Cut(message, "ErrImagePull: "); found {
		return cause
	}
	return message
}

var quotedImage = regexp.MustCompile(`image "([^"]+)"`)

// pulledImage returns the image of a failed pull: the container's, or that of a volume, as the kubelet's message names
// it.
func pulledImage(message, container string) string {
	quoted := quotedImage.FindStringSubmatch(message)
	if quoted == nil {
		return container
	}
	named, err := name.ParseReference(quoted[1])
	own, failed := name.ParseReference(container)
	if err != nil || failed != nil || named.Name() == own.Name() {
		return container
	}
	return quoted[1]
}

func containerReason(c *corev1.ContainerStatus, subject string, p *corev1.Pod, known *Secrets) explanation {
	if c.Ready {
		return explanation{}
	}
	if w := c.State.Waiting; w != nil {
		switch {
		case needsTime(w.Reason): // the last termination says more
		case isPullFailure(w.Reason):
			return explainPull(pulledImage(w.Message, c.Image), pullFailure(w.Message))
		case !known.matches(p) && !plainConfigError.MatchString(w.Message):
			return explanation{w.Reason + ": see its message with: kubectl -n " + p.Namespace + " describe pod " + p.Name,
				waitingRemedy(c)}
		default: // a command or a volume's path may contain a variable's value
			return explanation{sentence(w.Reason, secret.HideIn(w.Message, known.values())), waitingRemedy(c)}
		}
	}
	ended := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated)
	if ended == nil {
		return explanation{}
	}
	text := fmt.Sprintf("%s ended with exit code %d", subject, ended.ExitCode)
	logCause := cause(ended.Message, p, known)
	switch ended.Reason {
	case "", "Error", "Completed":
		return explanation{sentence(text, logCause), logCommand(p, c.Name)}
	case outOfMemory:
		return explainOutOfMemory(subject, text+" ("+ended.Reason+")", c.Name, p)
	}
	return explanation{sentence(text+" ("+ended.Reason+")", logCause), logCommand(p, c.Name)}
}

const (
	theServer    = "the server"
	outOfMemory  = "OOMKilled"
	invalidImage = "InvalidImageName"
)

// logCommand returns the command that shows the log, which the pod's status lacks after an exit with code 0.
func logCommand(p *corev1.Pod, container string) string {
	return fmt.Sprintf("%s: kubectl -n %s logs %s -c %s --previous", logHasCause, p.Namespace, p.Name, container)
}

// needsTime reports whether a waiting container needs only time.
func needsTime(reason string) bool {
	return slices.Contains([]string{"", "ContainerCreating", "PodInitializing", "CrashLoopBackOff"}, reason)
}

func unschedulable(message string) string {
	for _, tail := range []string{" preemption: ", ". no new "} {
		message, _, _ = strings.Cut(message, tail)
	}
	return strings.TrimRight(message, ". ,")
}

func sentence(reason, message string) string {
	message = printable(message)
	if message == "" {
		return reason
	}
	return reason + ": " + limits.Cut(message, maxMessage)
}

// printable returns the text without line breaks and control characters.
func printable(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))), " ")
}

// Strip drops the fields of a pod that Observe does not read, and those that change with each retry of the kubelet.
func Strip(p *corev1.Pod) {
	annotations := map[string]string{}
	if hash, found := p.Annotations[names.AnnotationSecretsHash]; found {
		annotations[names.AnnotationSecretsHash] = hash
	}
	p.ObjectMeta = metav1.ObjectMeta{
		Name: p.Name, Namespace: p.Namespace, UID: p.UID, ResourceVersion: p.ResourceVersion, Annotations: annotations,
		CreationTimestamp: p.CreationTimestamp, DeletionTimestamp: p.DeletionTimestamp, Labels: names.OwnLabels(p.Labels),
	}
	var conditions []corev1.PodCondition
	for i := range p.Status.Conditions {
		if kept := stripCondition(&p.Status.Conditions[i]); kept != nil {
			conditions = append(conditions, *kept)
		}
	}
	phase := corev1.PodPhase("")
	if HasEnded(p) {
		phase = p.Status.Phase
	}
	p.Spec = stripSpec(p)
	p.Status = corev1.PodStatus{
		Phase:  phase,
		Reason: p.Status.Reason, Message: p.Status.Message, Conditions: conditions,
		InitContainerStatuses: stripContainers(p.Status.InitContainerStatuses),
		ContainerStatuses:     stripContainers(p.Status.ContainerStatuses),
	}
}

// stripSpec returns the sizes of the containers of a pod that is not ready.
func stripSpec(p *corev1.Pod) (s corev1.PodSpec) {
	if IsReady(p) {
		return s
	}
	sizes := func(list []corev1.Container) (kept []corev1.Container) {
		for i := range list {
			if r := list[i].Resources; len(r.Requests)+len(r.Limits) > 0 {
				kept = append(kept, corev1.Container{Name: list[i].Name,
					Resources: corev1.ResourceRequirements{Requests: r.Requests, Limits: r.Limits}})
			}
		}
		return kept
	}
	s.InitContainers, s.Containers = sizes(p.Spec.InitContainers), sizes(p.Spec.Containers)
	return s
}

// stripCondition returns the used fields of a condition, or nil.
func stripCondition(c *corev1.PodCondition) *corev1.PodCondition {
	kept := &corev1.PodCondition{Type: c.Type, Status: c.Status}
	switch {
	case c.Type == corev1.DisruptionTarget:
		kept.LastTransitionTime, kept.Reason, kept.Message = c.LastTransitionTime, c.Reason, c.Message
	case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
		kept.Reason, kept.Message = c.Reason, c.Message
	case c.Type != corev1.PodScheduled && c.Type != corev1.PodReady:
		return nil
	}
	return kept
}

func stripContainers(list []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for i := range list {
		c := &list[i]
		s := corev1.ContainerStatus{Name: c.Name, Ready: c.Ready, ImageID: c.ImageID}
		if w := c.State.Waiting; w != nil && !needsTime(w.Reason) {
			s.State.Waiting = &corev1.ContainerStateWaiting{Reason: w.Reason, Message: w.Message}
			if isPullFailure(w.Reason) || w.Reason == invalidImage {
				s.Image = c.Image
			}
		}
		if t := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated); t != nil {
			s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, Reason: t.Reason,
				Message: t.Message}
		}
		kept = append(kept, s)
	}
	return kept
}

// Differ reports whether two stripped versions of a pod differ in the status, except for becoming ready.
func Differ(a, b *corev1.Pod) bool {
	before, after := reported(a), reported(b)
	if !IsReady(a) || !IsReady(b) {
		dropImages(&before)
		dropImages(&after)
	}
	return (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) || !equality.Semantic.DeepEqual(before, after)
}

// reported returns the pod's status without the conditions and flags of a normal start.
func reported(p *corev1.Pod) corev1.PodStatus {
	s := *p.Status.DeepCopy()
	s.Conditions = slices.DeleteFunc(s.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady || c.Type == corev1.PodScheduled && c.Status == corev1.ConditionTrue
	})
	for _, list := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			list[i].Ready = false
		}
	}
	return s
}

// dropImages removes the images, and then containers without other content.
func dropImages(s *corev1.PodStatus) {
	for _, list := range []*[]corev1.ContainerStatus{&s.InitContainerStatuses, &s.ContainerStatuses} {
		for i := range *list {
			(*list)[i].ImageID = ""
		}
		*list = slices.DeleteFunc(*list, func(c corev1.ContainerStatus) bool {
			return equality.Semantic.DeepEqual(c, corev1.ContainerStatus{Name: c.Name})
		})
	}
}
