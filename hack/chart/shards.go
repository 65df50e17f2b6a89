// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"slices"
	"strings"
)

const (
	// shardRole is the label control-plane of shard pods, which the webhooks' Service must not select.
	role, shardRole = "controller-manager", "controller-manager-shard"
	shardLabel      = "llamastack.io/operator-shard"
	shardName       = "{{ $shard }}"
)

// shardArguments follow those of the manifest: a shard serves no webhooks.
const shardArguments = `
{{- if .Values.namespaced.enabled }}
- --watch-namespaces={{ join "," .Values.namespaced.watch }}
- --metrics-bind-address=0
{{- end }}
- --webhook-bind-address=0
- {{ printf "--watch-label-selector=%s=%s" .Values.shards.label $shard | quote }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}`

// shardsTemplate returns each shard's Deployment and PodDisruptionBudget, and the Service and the NetworkPolicy for the
// metrics of all shards. The other objects are shared with the operator.
func shardsTemplate(root string) (string, error) {
	objects, err := read(root, manifest)
	if err != nil {
		return "", err
	}
	var shared, perShard strings.Builder
	for _, o := range objects {
		name, _ := meta(o)["name"].(string)
		out := &shared
		switch o["kind"] {
		case "Deployment":
			out = &perShard
			shardDeployment(o)
		case "PodDisruptionBudget":
			out = &perShard
			rename(o, prefix+"shard-"+shardName, object{shardLabel: shardName})
		case "NetworkPolicy":
			rename(o, prefix+"shards", nil)
			spec := child(o, "spec")
			spec["ingress"] = slices.DeleteFunc(
				spec["ingress"].([]any),
				func(rule any) bool { _, limited := rule.(object)["from"]; return !limited },
			)
		case "Service":
			if !strings.HasSuffix(name, "metrics-service") {
				continue
			}
			labels := maps.Clone(child(o, "metadata", "labels")) // the ServiceMonitor selects by these
			rename(o, prefix+"shards-metrics-service", nil)
			meta(o)["labels"] = labels
		default:
			continue
		}
		text, err := template(o)
		if err != nil {
			return "", err
		}
		text = "---\n" + text
		if kind, _ := o["kind"].(string); conditions[kind] != "" {
			text = "{{- if " + conditions[kind] + " }}\n" + text + "{{- end }}\n"
		}
		out.WriteString(text)
	}
	return header(manifest) + "{{- if .Values.shards.names }}\n" + shared.String() +
		"{{- range $shard := .Values.shards.names }}\n{{- with $ }}\n" + perShard.String() + "{{- end }}\n{{- end }}\n{{- end }}\n", nil
}

func shardDeployment(o object) {
	rename(o, prefix+"shard-"+shardName, object{shardLabel: shardName})
	container := child(o, "spec", "template", "spec")["containers"].([]any)[0].(object)
	container["ports"] = slices.DeleteFunc(
		container["ports"].([]any),
		func(port any) bool { return port.(object)["name"] == "webhook" },
	)
}

// rename sets an object's name, and replaces the labels of the operator's pods by those of shard pods and further ones.
func rename(o object, name string, extraLabels object) {
	relabel(o, extraLabels)
	meta(o)["name"] = name
}

func relabel(value any, extraLabels object) {
	switch v := value.(type) {
	case object:
		if v["control-plane"] == role {
			v["control-plane"] = shardRole
			maps.Copy(v, extraLabels)
		}
		for key := range v {
			relabel(v[key], extraLabels)
		}
	case []any:
		for i := range v {
			relabel(v[i], extraLabels)
		}
	}
}
