// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// origin maps a field of an object to its field of the spec.
type origin struct {
	kind string
	// field is the field of the object, and specField that of the spec; their subfields are the same.
	field, specField string
	// key identifies entries of a list in which the operator adds its own, so that indexes differ.
	key string
	// others reports that the field also has entries of other fields, so that only entries of specField count.
	others bool
	// entry is the key of the only entry that comes from specField, or from the operator's setting if that is absent.
	entry, setting string
}

const (
	podSpec   = "spec.template.spec."
	container = podSpec + "containers[0]."
	workload  = "spec.workload."
	overrides = workload + "overrides."
)

var origins = []origin{
	{kind: "Deployment", field: container + "resources", specField: workload + "resources"},
	{kind: "Deployment", field: container + "envFrom", specField: overrides + "envFrom"},
	{kind: "Deployment", field: container + "env", specField: overrides + "env", key: "name"},
	{kind: "Deployment", field: container + "command", specField: overrides + "command"},
	{kind: "Deployment", field: container + "args", specField: overrides + "args"},
	{kind: "Deployment", field: container + "volumeMounts", specField: overrides + "volumeMounts", key: "mountPath"},
	{kind: "Deployment", field: container + "image", specField: "spec.distribution"},
	{kind: "Deployment", field: podSpec + "containers", specField: overrides + "sidecars", key: "name", others: true},
	{kind: "Deployment", field: podSpec + "initContainers", specField: overrides + "initContainers", key: "name",
		others: true},
	{kind: "Deployment", field: podSpec + "volumes", specField: workload + "modelCache", key: "name",
		entry: objects.ModelCacheVolume, setting: settings.KeyModelCache + ".image"},
	{kind: "Deployment", field: podSpec + "volumes", specField: overrides + "volumes", key: "name"},
	{kind: "Deployment", field: podSpec + "serviceAccountName", specField: overrides + "serviceAccountName"},
	{kind: "Deployment", field: podSpec + "topologySpreadConstraints", specField: workload + "topologySpreadConstraints"},
	{kind: "Deployment", field: podSpec + "affinity", specField: workload + "scheduling.affinity"},
	{kind: "Deployment", field: podSpec + "tolerations", specField: workload + "scheduling.tolerations"},
	{kind: "Deployment", field: podSpec + "nodeSelector", specField: workload + "scheduling.nodeSelector"},
	{kind: "Deployment", field: podSpec + "priorityClassName", specField: workload + "scheduling.priorityClassName"},
	{kind: "Deployment", field: podSpec + "runtimeClassName", specField: workload + "scheduling.runtimeClassName"},
	{kind: "Deployment", field: podSpec + "imagePullSecrets", specField: workload + "imagePullSecrets", key: "name"},
	{kind: "Deployment", field: podSpec + "resourceClaims", specField: workload + "resourceClaims"},
	{
		kind:      "Deployment",
		field:     podSpec + "terminationGracePeriodSeconds",
		specField: workload + "terminationGracePeriodSeconds",
	},
	{kind: "Deployment", field: "spec.template.labels", specField: workload + "podMetadata.labels"},
	{kind: "Deployment", field: "spec.template.annotations", specField: workload + "podMetadata.annotations"},
	{kind: "Deployment", field: "spec.replicas", specField: workload + "replicas"},
	{kind: "PersistentVolumeClaim", field: "spec.resources.requests", specField: workload + "storage.size"},
	{kind: "PodDisruptionBudget", field: "spec.minAvailable", specField: workload + "podDisruptionBudget.minAvailable"},
	{
		kind:      "PodDisruptionBudget",
		field:     "spec.maxUnavailable",
		specField: workload + "podDisruptionBudget.maxUnavailable",
	},
	{kind: "HorizontalPodAutoscaler", field: "spec.minReplicas", specField: workload + "autoscaling.minReplicas"},
	{kind: "HorizontalPodAutoscaler", field: "spec.metrics", specField: workload + "autoscaling.metrics"},
	{kind: "HorizontalPodAutoscaler", field: "spec.behavior", specField: workload + "autoscaling.behavior"},
	{kind: "HorizontalPodAutoscaler", field: "spec.maxReplicas", specField: workload + "autoscaling.maxReplicas"},
	{kind: "NetworkPolicy", field: "spec.egress", specField: "spec.networking.egress.to"},
	{kind: "Ingress", field: "spec.rules[0].host", specField: "spec.networking.expose.hostname"},
	{kind: "HTTPRoute", field: "spec.hostnames[0]", specField: "spec.networking.expose.hostname"},
	{kind: "Route", field: "spec.host", specField: "spec.networking.expose.hostname"},
}

// rejectedField returns the field of the spec for which an object was refused, or "" if unknown.
func rejectedField(owner *v1alpha2.LlamaStackDistribution, c *change, err error) string {
	fields := unknownFields(err)
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			fields = append(fields, cause.Field)
		}
	}
	if out, ok := errors.AsType[*droppedFieldsError](err); ok {
		fields = out.fields
	}
	in := specOf(owner)
	for _, field := range fields {
		for i := range origins {
			if from, _ := origins[i].specPath(c, in, field); from != "" {
				return from
			}
		}
	}
	return specFieldByKind[c.gvk.Kind]
}

func specOf(owner *v1alpha2.LlamaStackDistribution) map[string]any {
	spec, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(&owner.Spec)
	return map[string]any{"spec": spec}
}

// specPath returns the custom resource's field for a field of the object, or the enclosing one, and whether it is
// exact.
func (o *origin) specPath(c *change, cr map[string]any, field string) (from string, exact bool) {
	rest, found := strings.CutPrefix(field, o.field)
	if o.kind != c.gvk.Kind || !found || rest != "" && !strings.ContainsAny(rest[:1], ".[") {
		return "", false
	}
	if o.entry != "" {
		return o.entryPath(c, cr, rest)
	}
	value, found, _ := unstructured.NestedFieldNoCopy(cr, strings.Split(o.specField, ".")...)
	switch {
	case !found && o.others:
		return "", false
	case !found:
		if kindField := specFieldByKind[o.kind]; kindField != "" {
			return kindField, false
		}
		return o.specField, false
	case o.kind == "PersistentVolumeClaim": // of one resource
		return o.specField, true
	case o.key == "" || rest == "":
		return o.specField + rest, true
	}
	index, ok := indexIn(rest)
	if !ok {
		return o.specField, false
	}
	_, below, _ := strings.Cut(rest, "]")
	name := o.nameAt(c, index)
	list, _ := value.([]any)
	at := slices.IndexFunc(list, func(entry any) bool { return name != nil && keyOf(entry, o.key) == name })
	if at < 0 && o.others {
		return "", false
	}
	if at < 0 {
		return o.specField, false
	}
	return fmt.Sprintf("%s[%d]%s", o.specField, at, below), true
}

// entryPath returns the field, or the operator's setting, of the only entry that comes from it.
func (o *origin) entryPath(c *change, cr map[string]any, rest string) (from string, exact bool) {
	if index, ok := indexIn(rest); !ok || o.nameAt(c, index) != o.entry {
		return "", false
	}
	if _, found, _ := unstructured.NestedFieldNoCopy(cr, strings.Split(o.specField, ".")...); !found {
		return "operator settings: " + o.setting, true
	}
	return o.specField, true
}

// indexIn returns the index at the start of a path.
func indexIn(path string) (index int, ok bool) {
	text, _, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
	index, err := strconv.Atoi(text)
	return index, err == nil
}

// nameAt returns the key of the entry in the object's list, or nil.
func (o *origin) nameAt(c *change, index int) any {
	var at any = c.Object
	for part := range strings.SplitSeq(strings.ReplaceAll(o.field, "[0]", ".0"), ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[part]
		case []any:
			if len(v) == 0 {
				return nil
			}
			at = v[0]
		}
	}
	list, _ := at.([]any)
	if index < 0 || index >= len(list) {
		return nil
	}
	return keyOf(list[index], o.key)
}

func keyOf(entry any, key string) any {
	fields, _ := entry.(map[string]any)
	return fields[key]
}
