// SPDX-License-Identifier: Apache-2.0

package problem

import "k8s.io/apimachinery/pkg/util/validation/field"

var fieldRows = []Row{
	{
		Reason: InvalidField, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The value of a field, or the name of the custom resource, has the wrong type, form or range, or the " +
			"value is not one of those that the field takes. The kubectl plugin also reports a document that it cannot read " +
			"as an object of this API.",
		Example: Problem{
			Path: "spec.networking.port", Type: field.ErrorTypeInvalid, Value: 80,
			Detail: "the server accepts only ports from 1024 to 65535",
			Fix:    "choose a port in this range, or remove the field for 8321",
		},
		Remedy: "Correct the field that the message names. A custom resource with a wrong name must be created under " +
			"another one.",
	},
	{
		Reason: MissingField, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "A required field is absent. A warning where the server starts without it, and some of it does not work.",
		Example: Problem{
			Path: "spec.providers.inference[0].endpoint", Type: field.ErrorTypeRequired,
			Detail: "remote::vllm has no default address",
			Fix:    "for example endpoint: http://backend.example.svc:8000",
		},
		Remedy: "Add the field.",
	},
	{
		Reason: UnknownField, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "There is no such field at this place.",
		Example: Problem{Path: "spec.providers.inference[0].apikey", Type: field.ErrorTypeInvalid, Detail: "unknown field",
			Fix: `did you mean "apiKey"?`},
		Remedy: "Use the name that the message suggests. Fields of the provider itself go under `settings`.",
	},
	{
		Reason: ConflictingFields, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "Two places set the same thing, or register the same model, tool or shield.",
		Example: Problem{
			Path: "spec.resources.models[1]", Type: field.ErrorTypeDuplicate, Value: "m",
			Detail: "duplicates the model and provider of spec.resources.models[0]",
			Fix:    "remove one of them",
		},
		Remedy: "Keep one of the two.",
	},
	{
		Reason: NoEffect, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "A field is set and does nothing, or not what one may expect of it.",
		Example: Problem{
			Severity: Warning, Path: "spec.networking.tls.secretName", Detail: "has no effect while TLS is not enabled",
			Fix: "set spec.networking.tls.enabled: true, or remove it",
		},
		Remedy: "Remove the field, or set what it depends on.",
	},
	{
		Reason: HostnameNotUnique, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The server is exposed without a host name, or an older LlamaStackDistribution is exposed under the same " +
			"one, or has none either. The older one gets no warning.",
		Example: Problem{
			Severity: Warning, Path: "spec.networking.expose", Detail: "the Ingress has no host name: it acts as a " +
				"catch-all for the host names that no other one has",
			Fix: "set spec.networking.expose.hostname, or domain in the key edge of the ConfigMap llama-stack-operator-config",
		},
		Remedy: "Set a host name that no other server has.",
	},
	{
		Reason: Unprotected, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The server is exposed, and everyone may call it, or the tokens of its callers are sent without " +
			"encryption. Or it has authentication, and something in the spec can take that away: an override that can give " +
			"the server another configuration or other code, or proxies that anyone is. Or the server does not verify the " +
			"certificate of a provider or an issuer.",
		Example: Problem{
			Severity: Warning, Path: "spec.networking.expose",
			Detail: "the server has no authentication: everyone who can reach the host can call it",
			Fix:    "set spec.auth, or ignore this warning if a proxy in front of the server authenticates callers",
		},
		Remedy: "Set `spec.auth`, and let the edge or the server encrypt. If something in front of the server does both, " +
			"ignore the warning. Of an override, the condition AccessControlled reports what came of it. If a certificate is " +
			"not verified, set its CA in `spec.networking.tls.caBundle`.",
	},
	{
		Reason: TooLarge, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The spec, what it refers to, or what is made of it, is larger than a limit.",
		Example: Problem{
			Path: "spec.resources.models", Type: field.ErrorTypeTooMany, Value: 1001,
			Detail: "must have at most 1000 items",
		},
		Remedy: "Configure less, or use several LlamaStackDistributions.",
	},
	{
		Reason: MoreProblems, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "There are more problems than are shown, or may be.",
		Example: Problem{
			Path: "spec", Type: field.ErrorTypeTooMany, Value: 7,
			Detail: "more problems are left out here",
			Fix:    "fix the others first",
		},
		Remedy: "Fix the problems that are shown first.",
	},
	{
		Reason: ForbiddenBySettings, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The operator's settings or flags forbid what the spec asks for: a field, a registry, or a ConfigMap in " +
			"another namespace.",
		Example: Problem{
			Path: "spec.workload.overrides.command", Type: field.ErrorTypeForbidden,
			Detail: "the operator's administrator forbids command and args (commandAndArgs in the key forbid of the ConfigMap " +
				"llama-stack-operator-config)",
			Fix: "remove it, or ask the administrator",
		},
		Remedy: "Choose what the message allows, or ask the operator's administrator.",
	},
	{
		Reason: UnsupportedByOperator, Class: Terminal, Conditions: inConfigGenerated, FixedElsewhere: true,
		Meaning: "This build of the operator cannot do what the spec asks for.",
		Example: Problem{
			Path: "spec.externalProviders", Type: field.ErrorTypeForbidden,
			Detail: "the operator does not know its own image, which installs the packages of external providers",
			Fix: "ask the administrator to start the operator with --operator-image, or to set POD_NAME and POD_NAMESPACE " +
				"in its pod",
		},
		Remedy: "Remove the field, or use an operator that supports it.",
	},
	{
		Reason: UnsupportedByRelease, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The release line of the server does not have what the spec asks for.",
		Example: Problem{
			Path: "spec.auth.tenancy", Type: field.ErrorTypeForbidden,
			Detail: "a server of release line 0.7 does not separate tenants",
			Fix:    "remove it; or use a server of release lines 1.2 and newer, with spec.distribution.version or another image",
		},
		Remedy: "Remove it, or choose another release line with `spec.distribution.version`.",
	},
	{
		Reason: ReviewConversion, Class: Terminal, Conditions: inConfigGenerated,
		Meaning: "The custom resource was written in v1alpha1, and its author should look at something: a field that was " +
			"lost, or that v1alpha2 says in another way.",
		Example: Problem{
			Severity: Warning, Path: "metadata.annotations[llamastack.io/conversion]",
			Detail: "these fields of v1alpha1 were lost in conversion, because the annotations are too large: spec.providers",
			Fix:    "remove large annotations, and set the fields again in v1alpha1",
		},
		Remedy: "Read the message, and decide. Set lost fields again in v1alpha2, and remove the annotation.",
	},
}
