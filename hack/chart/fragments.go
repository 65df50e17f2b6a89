// SPDX-License-Identifier: Apache-2.0

package main

import (
	"maps"
	"strings"

	"sigs.k8s.io/yaml"
)

// fragmentsOf replaces parts of an object by markers, and returns the template fragments for them.
func fragmentsOf(o object) map[string]string {
	switch o["kind"] {
	case "CustomResourceDefinition":
		return crdFragments(o)
	case "ValidatingWebhookConfiguration":
		return webhookFragments(o)
	case "Deployment":
		return deploymentFragments(o)
	case "ServiceAccount":
		meta(o)[sortLast+"annotations"] = "@@annotations@@"
		return map[string]string{"annotations": optional("annotations", ".Values.serviceAccount.annotations")}
	case "Service":
		return serviceFragments(o)
	case "PodDisruptionBudget":
		return replaceField(
			child(o, "spec"),
			"maxUnavailable",
			`maxUnavailable: {{ .Values.podDisruptionBudget.maxUnavailable }}`,
		)
	case "NetworkPolicy":
		return networkPolicyFragments(o)
	case "PodMonitor":
		child(o, "metadata", "labels")[sortLast+"labels"] = "@@labels@@"
		fragments := map[string]string{"labels": optionalKeys(".Values.podMonitor.labels")}
		endpoints, _ := child(o, "spec")["podMetricsEndpoints"].([]any)
		maps.Copy(fragments, replaceField(endpoints[0].(object), "interval", "interval: {{ .Values.podMonitor.interval }}"))
		return fragments
	case "ConfigMap":
		child(o, "metadata", "labels")[sortLast+"labels"] = "@@labels@@"
		return map[string]string{"labels": optionalKeys(".Values.dashboards.labels")}
	case "PrometheusRule":
		child(o, "metadata", "labels")[sortLast+"labels"] = "@@labels@@"
		return map[string]string{"labels": optionalKeys(".Values.prometheusRule.labels")}
	}
	return nil
}

// caInjectionAnnotations has the annotations with which other certificate makers inject the CA bundle.
const caInjectionAnnotations = `
{{- if eq .Values.certificates.maker "cert-manager" }}
cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/llama-stack-k8s-operator-webhook
{{- else if eq .Values.certificates.maker "openshift" }}
service.beta.openshift.io/inject-cabundle: "true"
{{- end }}`

// caBundleFragment is the CA bundle of certificates that the user provides. Other certificate makers inject the bundle
// themselves.
const caBundleFragment = `
{{- if eq .Values.certificates.maker "given" }}
caBundle: {{ required "certificates.caBundle is required: set the PEM text of the CA certificates" .Values.certificates.caBundle | b64enc }}
{{- end }}`

func crdFragments(o object) map[string]string {
	annotations := child(o, "metadata", "annotations")
	annotations[sortLast+"keep"], annotations[sortLast+"injection"] = "@@keep@@", "@@injection@@"
	spec := child(o, "spec")
	versions, _ := spec["versions"].([]any)
	fragments := map[string]string{
		"keep":      "{{- if .Values.crds.keep }}\nhelm.sh/resource-policy: keep\n{{- end }}",
		"injection": caInjectionAnnotations,
	}
	for _, v := range versions {
		if version, _ := v.(object); version["name"] == "v1alpha1" { // without webhooks there is no conversion
			delete(version, "served")
			version[sortLast+"served"] = "@@served@@"
			fragments["served"] = "served: {{ and .Values.crds.serveV1alpha1 (not .Values.namespaced.enabled) }}"
		}
	}
	client := child(o, "spec", "conversion", "webhook", "clientConfig")
	text := strings.TrimSpace(toYAML(templateNamespace(client).(object)))
	text = "clientConfig:\n" + indent(text, 2) + "\n" + indent(strings.TrimSpace(caBundleFragment), 2)
	webhook := child(o, "spec", "conversion", "webhook")
	delete(webhook, "clientConfig")
	rest := strings.TrimSpace(toYAML(webhook))
	delete(spec, "conversion")
	spec[sortLast+"conversion"] = "@@conversion@@"
	fragments["conversion"] = "conversion:\n{{- if .Values.namespaced.enabled }}\n  strategy: None\n{{- else }}\n  strategy: Webhook\n  webhook:\n" +
		indent(
			text,
			4,
		) + "\n" + indent(
		rest,
		4,
	) + "\n{{- end }}"
	return fragments
}

func webhookFragments(o object) map[string]string {
	meta(o)[sortLast+"annotations"] = "@@annotations@@"
	list, _ := o["webhooks"].([]any)
	for _, w := range list {
		child(w.(object), "clientConfig")[sortLast+"bundle"] = "@@bundle@@"
	}
	return map[string]string{
		"bundle": caBundleFragment,
		"annotations": `{{- if has .Values.certificates.maker (list "cert-manager" "openshift") }}` + "\nannotations:\n" +
			indent(strings.TrimSpace(caInjectionAnnotations), 2) + "\n{{- end }}",
	}
}

func serviceFragments(o object) map[string]string {
	if name, _ := meta(o)["name"].(string); !strings.HasSuffix(name, "webhook-service") {
		return nil
	}
	meta(o)[sortLast+"annotations"] = "@@annotations@@"
	return map[string]string{"annotations": `
{{- if eq .Values.certificates.maker "openshift" }}
annotations:
  service.beta.openshift.io/serving-cert-secret-name: llama-stack-operator-webhook-cert
{{- end }}`}
}

func networkPolicyFragments(o object) map[string]string {
	ingress, _ := child(o, "spec")["ingress"].([]any)
	fragments := map[string]string{}
	for _, r := range ingress {
		rule := r.(object)
		if _, limited := rule["from"]; limited {
			delete(rule, "from")
			rule[sortLast+"metrics"] = "@@metrics@@"
			fragments["metrics"] = "from:\n{{- toYaml .Values.networkPolicy.metricsFrom | nindent INDENT }}"
			continue
		}
		rule[sortLast+"webhook"] = "@@webhook@@"
		fragments["webhook"] = optional("from", ".Values.networkPolicy.webhookFrom")
	}
	return fragments
}

func deploymentFragments(o object) map[string]string {
	fragments := map[string]string{}
	template := child(o, "spec", "template")
	pod := child(template, "spec")
	container := pod["containers"].([]any)[0].(object)
	add := func(to object, key, fragment string) {
		delete(to, key)
		name := strings.ToLower(key)
		to[sortLast+name] = "@@" + name + "@@"
		fragments[name] = fragment
	}
	add(child(o, "spec"), "replicas", "replicas: {{ .Values.replicas }}")
	add(child(template, "metadata", "annotations"), "annotations", optionalKeys(".Values.podAnnotations"))
	add(child(template, "metadata", "labels"), "labels", optionalKeys(".Values.podLabels"))
	for _, key := range []string{"imagePullSecrets", "nodeSelector", "tolerations", "affinity"} {
		add(pod, key, optional(key, ".Values."+key))
	}
	add(pod, "priorityClassName", "{{- with .Values.priorityClassName }}\npriorityClassName: {{ . }}\n{{- end }}")
	container["image"] = `{{ include "llama-stack-k8s-operator.image" . }}`
	container["imagePullPolicy"] = "{{ .Values.image.pullPolicy }}"
	add(container, "resources", "resources:\n{{- toYaml .Values.resources | nindent INDENT }}")
	for _, e := range container["env"].([]any) {
		if variable := e.(object); variable["name"] == "GOMEMLIMIT" {
			variable["value"] = "{{ .Values.goMemoryLimit }}"
		}
	}
	container["env"] = append(container["env"].([]any), "@@env@@")
	fragments["env"] = "{{- range .Values.env }}\n- {{- toYaml . | nindent INDENT }}\n{{- end }}"
	container["args"] = append(container["args"].([]any), "@@arguments@@")
	fragments["arguments"] = arguments
	if meta(o)["name"] != prefix+role {
		fragments["arguments"] = shardArguments
	}
	return fragments
}

// arguments follow those of the manifest: the last value of a repeated flag applies.
const arguments = `
{{- if .Values.namespaced.enabled }}
- --watch-namespaces={{ join "," .Values.namespaced.watch }}
- --webhook-bind-address=0
- --metrics-bind-address=0
{{- else if ne .Values.certificates.maker "operator" }}
- --manage-certificates=false
{{- end }}
{{- with .Values.shards.names }}
- {{ printf "--watch-label-selector=%s notin (%s)" $.Values.shards.label (join "," .) | quote }}
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}`

// optional returns a field that is omitted if the value is empty.
func optional(field, value string) string {
	return "{{- with " + value + " }}\n" + field + ":\n{{- toYaml . | nindent INDENT }}\n{{- end }}"
}

func optionalKeys(value string) string {
	return "{{- range $key, $value := " + value + " }}\n{{ $key }}: {{ $value | quote }}\n{{- end }}"
}

// replaceField replaces a field by a template whose value is not a string.
func replaceField(parent object, key, fragment string) map[string]string {
	delete(parent, key)
	name := strings.ToLower(key)
	parent[sortLast+name] = "@@" + name + "@@"
	return map[string]string{name: fragment}
}

func meta(o object) object { return child(o, "metadata") }

// child returns the map at the path, and creates missing ones.
func child(o object, path ...string) object {
	for _, key := range path {
		next, ok := o[key].(object)
		if !ok {
			next = object{}
			o[key] = next
		}
		o = next
	}
	return o
}

func toYAML(o object) string {
	text, err := yaml.Marshal(o)
	if err != nil {
		panic(err) // the object was parsed from YAML
	}
	return string(text)
}

// indent indents a fragment, except for actions, which print nothing.
func indent(text string, spaces int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if !strings.HasPrefix(line, "{{-") {
			lines[i] = strings.Repeat(" ", spaces) + line
		}
	}
	return strings.Join(lines, "\n")
}
