// SPDX-License-Identifier: Apache-2.0

package framework

// RejectedValue is a value that a custom resource passes through to Kubernetes, and that is rejected.
type RejectedValue struct {
	// Spec is the spec without its distribution, as YAML.
	Spec string
	// Problem is the message, beginning with the field's path.
	Problem string
}

func workload(text, problem string) RejectedValue {
	return RejectedValue{"workload: {" + text + "}", "spec.workload." + problem}
}

func overrides(text, problem string) RejectedValue {
	return workload("overrides: {"+text+"}", "overrides."+problem)
}

func volume(text, problem string) RejectedValue {
	return overrides("volumes: [{name: a, "+text+"}]", "volumes[0]."+problem)
}

// RejectedValues returns values that the API server would reject in an object or a pod, and that the operator rejects
// before it writes them.
func RejectedValues() []RejectedValue {
	variable := func(text, problem string) RejectedValue {
		return overrides("env: [{name: A, valueFrom: {"+text+"}}]", "env[0].valueFrom."+problem)
	}
	spread := func(text, problem string) RejectedValue {
		return workload("topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, "+text+"}]",
			"topologySpreadConstraints[0]."+problem)
	}
	affinity := func(text, problem string) RejectedValue {
		const required = "requiredDuringSchedulingIgnoredDuringExecution"
		return workload("scheduling: {affinity: {podAffinity: {"+required+": [{topologyKey: zone, "+text+"}]}}}",
			"scheduling.affinity.podAffinity."+required+"[0]."+problem)
	}
	return []RejectedValue{
		workload("resources: {requests: {cpu: 3}, limits: {cpu: 2}}",
			`resources.requests[cpu]: Invalid value: "3": is above the limit 2: lower it, or raise the limit`),
		workload("resources: {requests: {memory: -1Gi}}", `resources.requests[memory]: Invalid value: "-1Gi": must not be negative`),
		workload("resources: {requests: {gpu: 1}}", `resources.requests: Unsupported value: "gpu": is not a resource of containers`),
		workload("resources: {limits: {nvidia.com/gpu: 500m}}",
			`resources.limits[nvidia.com/gpu]: Invalid value: "500m": must be a whole number`),
		workload("resources: {requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 2}}",
			`resources.requests[nvidia.com/gpu]: Invalid value: "1": differs from the limit 2`),
		workload("storage: {size: 0}", `storage.size: Invalid value: "0": must be a positive size`),
		workload("scheduling: {priorityClassName: High}",
			`scheduling.priorityClassName: Invalid value: "High": is not a valid name of a PriorityClass`),
		spread("labelSelector: {matchLabels: {app: a}}, matchLabelKeys: [app]",
			`matchLabelKeys[0]: Invalid value: "app": is also a label of spec.workload.topologySpreadConstraints[0].labelSelector`),
		spread("labelSelector: {matchExpressions: [{key: app, operator: Exists}]}, matchLabelKeys: [app]",
			`matchLabelKeys[0]: Invalid value: "app"`),
		spread("matchLabelKeys: [app]", `matchLabelKeys: Invalid value: "app": works only with labelSelector`),
		affinity("matchLabelKeys: [a]", `matchLabelKeys: Invalid value: "a": works only with labelSelector`),
		affinity("labelSelector: {matchLabels: {app: c}}, matchLabelKeys: [app]",
			`matchLabelKeys[0]: Invalid value: "app": is also a label of spec.workload`),
		overrides("serviceAccountName: a/b", `serviceAccountName: Invalid value: "a/b": is not a valid name of a ServiceAccount`),
		overrides("env: [{name: 'a=b', value: x}]", `env[0].name: Invalid value: "a=b": is not a valid name of an environment variable`),
		overrides("env: [{name: '', value: x}]", "env[0].name: Required value: set the name"),
		variable("secretKeyRef: {name: s, key: a b, optional: true}", `secretKeyRef.key: Invalid value: "a b"`),
		variable("configMapKeyRef: {name: c, key: '', optional: true}", "configMapKeyRef.key: Required value"),
		variable("fileKeyRef: {volumeName: nope, path: p, key: k}",
			`fileKeyRef.volumeName: Not found: "nope": there is no such volume`),
		overrides("envFrom: [{prefix: '1=', secretRef: {name: s, optional: true}}]",
			`envFrom[0].prefix: Invalid value: "1=": is not a valid start of a variable name`),
		overrides("volumes: [{name: My_Volume, emptyDir: {}}]",
			`volumes[0].name: Invalid value: "My_Volume": is not a valid name of a volume`),
		overrides("volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]", `volumes[1].name: Duplicate value: "a"`),
		volume("secret: {secretName: '', optional: true}", "secret.secretName: Required value"),
		volume("persistentVolumeClaim: {claimName: ''}", "persistentVolumeClaim.claimName: Required value"),
		volume("image: {reference: ''}", "image.reference: Required value"),
		overrides("volumeMounts: [{name: a, mountPath: /a}]", `volumeMounts[0].name: Not found: "a": there is no such volume`),
		overrides("volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: ''}]",
			"volumeMounts[0].mountPath: Required value"),
		overrides("volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /a}, {name: a, mountPath: /a}]",
			`volumeMounts[1].mountPath: Duplicate value: "/a"`),
	}
}

// RejectedByKubernetes returns values that only the API server rejects, in the Deployment or the PodDisruptionBudget.
// Problem is the field that the operator reports.
func RejectedByKubernetes() []RejectedValue {
	mount := func(text string) RejectedValue { // the API server does not report which one
		return overrides("volumes: [{name: a, emptyDir: {}}], volumeMounts: [{name: a, mountPath: /a, "+text+"}]", "volumeMounts")
	}
	return []RejectedValue{
		workload("podDisruptionBudget: {minAvailable: half}", "podDisruptionBudget.minAvailable"),
		workload("resources: {limits: {hugepages-2Mi: 3Mi}}", "resources.limits"),
		workload("resourceClaims: [{name: a}]", "resourceClaims[0]"),
		workload("podMetadata: {labels: {a: b c}}", "podMetadata"),
		workload("scheduling: {nodeSelector: {a b: x}}", "scheduling.nodeSelector"),
		workload("scheduling: {tolerations: [{key: gpu, operator: exists}]}", "scheduling.tolerations[0].operator"),
		workload("scheduling: {affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: "+
			"[{weight: 0, preference: {matchExpressions: [{key: a, operator: Exists}]}}]}}}",
			"scheduling.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight"),
		workload("topologySpreadConstraints: [{maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]",
			"topologySpreadConstraints[0].maxSkew"),
		overrides("env: [{name: A, valueFrom: {}}]", "env[0].valueFrom"),
		overrides("env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.nme}}}]", "env[0].valueFrom.fieldRef.fieldPath"),
		overrides("env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.foo}}}]", "env[0].valueFrom.resourceFieldRef.resource"),
		overrides("envFrom: [{prefix: A}]", "envFrom"),
		overrides("volumes: [{name: a, emptyDir: {}, hostPath: {path: /a}}]", "volumes[0].hostPath"),
		volume("emptyDir: {sizeLimit: -1Gi}", "emptyDir.sizeLimit"),
		volume("configMap: {name: c, optional: true, items: [{key: k, path: ../x}]}", "configMap.items[0].path"),
		volume("projected: {sources: [{serviceAccountToken: {path: t, expirationSeconds: 60}}]}",
			"projected.sources[0].serviceAccountToken.expirationSeconds"),
		volume("downwardAPI: {items: [{path: a}]}", "downwardAPI"),
		volume("ephemeral: {}", "ephemeral.volumeClaimTemplate"),
		volume("iscsi: {targetPortal: '', iqn: 'iqn.2001-04.com.example:a', lun: 0}", "iscsi.targetPortal"),
		volume("scaleIO: {gateway: '', system: a, secretRef: {name: a}, volumeName: b}", "scaleIO.gateway"),
		mount("subPath: ../b"),
		mount("mountPropagation: Both"),
		mount("recursiveReadOnly: Enabled"),
	}
}

// InvalidNames returns names that no object can have, and that only the operator rejects because no object of the
// custom resource contains them.
func InvalidNames() []RejectedValue {
	return []RejectedValue{
		{
			"overrideConfig: {configMapName: a/b}",
			`spec.overrideConfig.configMapName: Invalid value: "a/b": is not a valid name of a ConfigMap: use lower-case letters`,
		},
		{
			"networking: {tls: {caBundle: {configMapName: A}}}",
			`spec.networking.tls.caBundle.configMapName: Invalid value: "A": is not a valid name of a ConfigMap`,
		},
		{
			"networking: {tls: {enabled: true, secretName: a/b}}",
			`spec.networking.tls.secretName: Invalid value: "a/b": is not a valid name of a Secret: use lower-case letters`,
		},
		// Kubernetes accepts the name, although no Secret can have it.
		{
			"workload: {imagePullSecrets: [{name: a/b}]}",
			`spec.workload.imagePullSecrets[0].name: Invalid value: "a/b": is not a valid name of a Secret`,
		},
		{
			"networking: {expose: {hostname: Llama.example}}",
			`spec.networking.expose.hostname: Invalid value: "Llama.example": must be a DNS name`,
		},
		{
			"networking: {allowedFrom: {labels: [a b]}}",
			`spec.networking.allowedFrom.labels[0]: Invalid value: "a b": is not a valid label key`,
		},
		{
			"networking: {allowedFrom: {namespaces: [Big]}}",
			`spec.networking.allowedFrom.namespaces[0]: Invalid value: "Big": is not a valid namespace name`,
		},
	}
}
