// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/describe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/inventory"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
)

type screen struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Verdict summarizes the state; Good reports that no action is needed.
	Verdict string  `json:"verdict"`
	Good    bool    `json:"good"`
	Causes  []cause `json:"causes,omitempty"`
	// Log is the end of the log of a container that ended, or the errors of a database in that of a running one.
	Log *podLog `json:"log,omitempty"`

	Phase       string `json:"phase,omitempty"`
	Pods        string `json:"pods,omitempty"`
	URL         string `json:"url,omitempty"`
	ExternalURL string `json:"externalURL,omitempty"`
	// Share is the share of the requests for the host name, with those of other servers; empty if they are not shared.
	Share       string `json:"share,omitempty"`
	Image       string `json:"image,omitempty"`
	ReleaseLine string `json:"releaseLine,omitempty"`
	// NewerLine is the newest release line if the server keeps an older one.
	NewerLine string `json:"newerReleaseLine,omitempty"`
	Server    string `json:"serverVersion,omitempty"`
	Config    string `json:"config,omitempty"`
	Operator  string `json:"operatorVersion,omitempty"`

	Providers []inventory.Provider `json:"providers,omitempty"`
	Models    []inventory.Model    `json:"models,omitempty"`
	// Registered are the vector stores, tool groups and connectors of the server.
	Registered []registered `json:"registered,omitempty"`
	// Missing are resources of the spec that the server does not list.
	Missing []string `json:"missing,omitempty"`
	// NotInSpec are models of the server that the spec does not register.
	NotInSpec []string `json:"notInSpec,omitempty"`
	// Try are commands that query the first chat model.
	Try     []string `json:"try,omitempty"`
	Objects []object `json:"objects,omitempty"`
	Events  []event  `json:"events,omitempty"`
	Unread  []string `json:"unread,omitempty"`
}

type cause struct {
	Condition string `json:"condition"`
	Reason    string `json:"reason"`
	Message   string `json:"message"`
	// Remedy is the fix; may be empty.
	Remedy string `json:"remedy,omitempty"`
}

type event struct {
	Last    time.Time `json:"last"`
	Object  string    `json:"object"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int32     `json:"count"`
}

type registered struct {
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Provider string `json:"provider,omitempty"`
}

func registeredResources(d *v1alpha2.DistributionConfig) (list []registered) {
	for _, group := range []struct {
		kind      string
		resources []v1alpha2.ResourceInfo
	}{{"vector store", d.VectorStores}, {"tool group", d.ToolGroups}, {"connector", d.Connectors}} {
		for _, r := range group.resources {
			list = append(list, registered{Kind: group.kind, Name: r.Name, Provider: r.ProviderID})
		}
	}
	return list
}

const maxEvents = 5

func newScreen(f *facts) *screen {
	cr := f.cr
	s := &screen{Namespace: cr.Namespace, Name: cr.Name, Phase: string(cr.Status.Phase), URL: cr.Status.ServiceURL,
		Unread: f.unread}
	s.Verdict, s.Good = verdict(cr)
	s.Causes, s.Log = f.explainStorage(f.explain(causes(cr))), f.log
	s.ExternalURL = ptr.Deref(cr.Status.RouteURL, "")
	s.Share = f.share
	s.Pods = fmt.Sprintf("%d of %d available", cr.Status.AvailableReplicas, cr.Status.Replicas)
	if r := cr.Status.ResolvedDistribution; r != nil {
		s.Image, s.ReleaseLine, s.NewerLine, s.Config = r.Image, r.ServerLine, r.NewerServerLine, string(r.ConfigSource)
	}
	if g := cr.Status.ConfigGeneration; g != nil && g.ConfigMapName != "" {
		s.Config = "ConfigMap " + g.ConfigMapName
	}
	if v := cr.Status.Version; v != nil {
		s.Server, s.Operator = v.LlamaStackServerVersion, v.OperatorVersion
	}
	running := f.inventory()
	s.Providers, s.Models = running.Providers(&cr.Spec), running.Models()
	if d := cr.Status.DistributionConfig; d != nil {
		s.Registered, s.Missing = registeredResources(d), d.MissingResources
		for _, m := range d.Models {
			if m.NotInSpec {
				s.NotInSpec = append(s.NotInSpec, m.Name)
			}
		}
	}
	s.Try = chatCommands(cr, s.Models)
	s.Objects = f.objects()
	s.Events = f.warnings()
	return s
}

// verdict summarizes the state of a custom resource, and reports whether no action is needed.
func verdict(cr *v1alpha2.LlamaStackDistribution) (text string, good bool) {
	ready := meta.FindStatusCondition(cr.Status.Conditions, v1alpha2.ConditionReady)
	available := meta.IsStatusConditionTrue(cr.Status.Conditions, v1alpha2.ConditionAvailable)
	stalled := meta.IsStatusConditionTrue(cr.Status.Conditions, v1alpha2.ConditionStalled)
	switch {
	case cr.DeletionTimestamp != nil:
		return "being deleted", false
	case ready == nil:
		return "the operator has not reconciled the resource: is the operator running?", false
	case unobserved(cr) && available:
		return fmt.Sprintf("the operator has not observed generation %d yet; the server runs generation %d",
			cr.Generation, ready.ObservedGeneration), false
	case unobserved(cr):
		return fmt.Sprintf("the operator has not observed generation %d yet: is the operator running?", cr.Generation), false
	case ready.Status == metav1.ConditionTrue:
		text = "ready"
		if !available {
			text = "scaled to zero"
		}
		remarks, found := strings.CutPrefix(ready.Message, status.SpecApplied+"; ")
		if !found {
			return text, true
		}
		return text + "; " + remarks, false
	case stalled && ready.Reason == string(problem.Conflict) && cr.Status.ResolvedDistribution == nil:
		return "nothing was created: an object of this name exists", false
	case stalled && ready.Reason == string(problem.Conflict) && available:
		return "another object has a name that the server needs; the server runs what was applied last", false
	case stalled && available:
		return "the last edit was rejected; the server runs the previous configuration", false
	case stalled:
		return "rejected: the spec requires changes", false
	case ready.Reason == v1alpha2.ReasonStorageUnreachable:
		return "the server runs, but cannot read what it stores", false
	case available && ready.Reason != v1alpha2.ReasonRolloutInProgress &&
		slices.Contains(v1alpha2.RolloutReasons(), ready.Reason):
		return "the server is available; a rollout that no edit caused is in progress", false
	case available:
		return "the server is available; the rollout of the last edit is in progress", false
	}
	return "not ready", false
}

// unobserved reports whether the operator has not observed the current generation.
func unobserved(cr *v1alpha2.LlamaStackDistribution) bool {
	ready := meta.FindStatusCondition(cr.Status.Conditions, v1alpha2.ConditionReady)
	return ready == nil || ready.ObservedGeneration < cr.Generation
}

// causes returns the conditions that explain the state, without those that repeat others.
func causes(cr *v1alpha2.LlamaStackDistribution) []cause {
	var list []cause
	for i := range cr.Status.Conditions {
		c := &cr.Status.Conditions[i]
		repeats := c.Type == v1alpha2.ConditionReady || c.Type == v1alpha2.ConditionStalled ||
			c.Reason == v1alpha2.ReasonNotApplied ||
			slices.Contains(v1alpha2.LegacyConditions(), c.Type)
		informational := c.Type == v1alpha2.ConditionBackendsReachable ||
			c.Type == v1alpha2.ConditionAccessControlled || c.Type == v1alpha2.ConditionStorageReachable
		unknown := informational && c.Status != metav1.ConditionFalse // not a known problem
		if repeats || unknown || c.Status == metav1.ConditionTrue || c.Reason == v1alpha2.ReasonScaledToZero {
			continue
		}
		if c.Type == v1alpha2.ConditionAvailable && len(list) > 0 {
			continue // other conditions explain this one
		}
		list = append(list, cause{Condition: c.Type, Reason: c.Reason, Message: c.Message, Remedy: describe.Remedy(c.Reason)})
	}
	return list
}

func (f *facts) deployment() *appsv1.Deployment {
	for _, o := range f.owned {
		if d, ok := o.(*appsv1.Deployment); ok && d.Name == names.DeploymentName(f.cr.Name) {
			return d
		}
	}
	return nil
}

// warnings returns the last Warning Events about the custom resource and its objects, newest first.
func (f *facts) warnings() []event {
	objectNames := map[string]bool{f.cr.Name: true}
	for _, o := range f.owned {
		objectNames[o.GetName()] = true
	}
	for i := range f.pods {
		objectNames[f.pods[i].Name] = true
	}
	var list []event
	for i := range f.events {
		e := &f.events[i]
		// The name of a ReplicaSet is that of the Deployment with a suffix.
		related := objectNames[e.InvolvedObject.Name] || e.InvolvedObject.Kind == "ReplicaSet" &&
			strings.HasPrefix(e.InvolvedObject.Name, f.cr.Name+"-")
		if e.Type != corev1.EventTypeWarning || !related {
			continue
		}
		list = append(list, newEvent(e))
	}
	slices.SortStableFunc(list, func(a, b event) int {
		return cmp.Or(b.Last.Compare(a.Last), strings.Compare(a.Object+a.Reason, b.Object+b.Reason))
	})
	return list[:min(len(list), maxEvents)]
}

func newEvent(e *corev1.Event) event {
	last := cmp.Or(e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time)
	count := max(e.Count, 1)
	if e.Series != nil {
		last, count = e.Series.LastObservedTime.Time, e.Series.Count
	}
	return event{
		Last: last.UTC(), Object: e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name, Reason: e.Reason,
		Message: strings.Join(strings.Fields(e.Message), " "), Count: count,
	}
}
