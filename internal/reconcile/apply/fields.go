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
)

// origin maps a field of an object to its field of the spec.
type origin struct {
	kind string
	// of is the field of the object, and from that of the spec; their subfields are the same.
	of, from string
	// key identifies entries of a list in which the operator adds its own, so that indexes differ.
	key string
}

const (
	podSpec   = "spec.template.spec."
	container = podSpec + "containers[0]."
	workload  = "spec.workload."
	overrides = workload + "overrides."
)

var origins = []origin{
	{kind: "Deployment", of: container + "resources", from: workload + "resources"},
	{kind: "Deployment", of: container + "envFrom", from: overrides + "envFrom"},
	{kind: "Deployment", of: container + "env", from: overrides + "env", key: "name"},
	{kind: "Deployment", of: container + "command", from: overrides + "command"},
	{kind: "Deployment", of: container + "args", from: overrides + "args"},
	{kind: "Deployment", of: container + "volumeMounts", from: overrides + "volumeMounts", key: "mountPath"},
	{kind: "Deployment", of: container + "image", from: "spec.distribution"},
	{kind: "Deployment", of: podSpec + "volumes", from: overrides + "volumes", key: "name"},
	{kind: "Deployment", of: podSpec + "serviceAccountName", from: overrides + "serviceAccountName"},
	{kind: "Deployment", of: podSpec + "topologySpreadConstraints", from: workload + "topologySpreadConstraints"},
	{kind: "Deployment", of: podSpec + "affinity", from: workload + "scheduling.affinity"},
	{kind: "Deployment", of: podSpec + "tolerations", from: workload + "scheduling.tolerations"},
	{kind: "Deployment", of: podSpec + "nodeSelector", from: workload + "scheduling.nodeSelector"},
	{kind: "Deployment", of: podSpec + "priorityClassName", from: workload + "scheduling.priorityClassName"},
	{kind: "Deployment", of: podSpec + "runtimeClassName", from: workload + "scheduling.runtimeClassName"},
	{kind: "Deployment", of: podSpec + "imagePullSecrets", from: workload + "imagePullSecrets", key: "name"},
	{kind: "Deployment", of: podSpec + "resourceClaims", from: workload + "resourceClaims"},
	{kind: "Deployment", of: podSpec + "terminationGracePeriodSeconds", from: workload + "terminationGracePeriodSeconds"},
	{kind: "Deployment", of: "spec.template.labels", from: workload + "podMetadata.labels"},
	{kind: "Deployment", of: "spec.template.annotations", from: workload + "podMetadata.annotations"},
	{kind: "Deployment", of: "spec.replicas", from: workload + "replicas"},
	{kind: "PersistentVolumeClaim", of: "spec.resources.requests", from: workload + "storage.size"},
	{kind: "PodDisruptionBudget", of: "spec.minAvailable", from: workload + "podDisruptionBudget.minAvailable"},
	{kind: "PodDisruptionBudget", of: "spec.maxUnavailable", from: workload + "podDisruptionBudget.maxUnavailable"},
	{kind: "HorizontalPodAutoscaler", of: "spec.minReplicas", from: workload + "autoscaling.minReplicas"},
	{kind: "HorizontalPodAutoscaler", of: "spec.maxReplicas", from: workload + "autoscaling.maxReplicas"},
	{kind: "Ingress", of: "spec.rules[0].host", from: "spec.networking.expose.hostname"},
	{kind: "HTTPRoute", of: "spec.hostnames[0]", from: "spec.networking.expose.hostname"},
	{kind: "Route", of: "spec.host", from: "spec.networking.expose.hostname"},
}

// refusedField returns the field of the spec for which an object was refused, or "" if unknown.
func refusedField(owner *v1alpha2.LlamaStackDistribution, c *change, err error) string {
	fields := unknownFields(err)
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			fields = append(fields, cause.Field)
		}
	}
	if out, ok := errors.AsType[*leftOutError](err); ok {
		fields = out.fields
	}
	in := specOf(owner)
	for _, field := range fields {
		for i := range origins {
			if from, _ := origins[i].field(c, in, field); from != "" {
				return from
			}
		}
	}
	return fieldsOfKinds[c.gvk.Kind]
}

func specOf(owner *v1alpha2.LlamaStackDistribution) map[string]any {
	spec, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(&owner.Spec)
	return map[string]any{"spec": spec}
}

// field returns the custom resource's field for a field of the object, or the enclosing one, and whether it is exact.
func (o *origin) field(c *change, cr map[string]any, field string) (from string, itself bool) {
	rest, found := strings.CutPrefix(field, o.of)
	if o.kind != c.gvk.Kind || !found || rest != "" && !strings.ContainsAny(rest[:1], ".[") {
		return "", false
	}
	written, found, _ := unstructured.NestedFieldNoCopy(cr, strings.Split(o.from, ".")...)
	switch {
	case !found:
		if whole := fieldsOfKinds[o.kind]; whole != "" {
			return whole, false
		}
		return o.from, false
	case o.kind == "PersistentVolumeClaim": // of one resource
		return o.from, true
	case o.key == "" || rest == "":
		return o.from + rest, true
	}
	at, below, _ := strings.Cut(strings.TrimPrefix(rest, "["), "]")
	index, err := strconv.Atoi(at)
	if err != nil {
		return o.from, false
	}
	name := o.nameAt(c, index)
	list, _ := written.([]any)
	place := slices.IndexFunc(list, func(entry any) bool { return name != nil && keyOf(entry, o.key) == name })
	if place < 0 {
		return o.from, false
	}
	return fmt.Sprintf("%s[%d]%s", o.from, place, below), true
}

// nameAt returns the key of the entry in the object's list, or nil.
func (o *origin) nameAt(c *change, index int) any {
	var at any = c.Object
	for part := range strings.SplitSeq(strings.ReplaceAll(o.of, "[0]", ".0"), ".") {
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
