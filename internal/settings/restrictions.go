// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// KeyForbid is the key of a YAML list of Restrictions.
const KeyForbid = "forbid"

// Restriction is a feature of the custom resource that KeyForbid can forbid.
type Restriction string

const (
	// ForbidHostPathVolumes forbids hostPath volumes in spec.workload.overrides.volumes.
	ForbidHostPathVolumes Restriction = "hostPathVolumes"
	// ForbidForeignServiceAccounts forbids spec.workload.overrides.serviceAccountName.
	ForbidForeignServiceAccounts Restriction = "foreignServiceAccounts"
	// ForbidIngressWithoutHostname forbids an Ingress that matches every host name.
	ForbidIngressWithoutHostname Restriction = "ingressWithoutHostname"
	// ForbidExposeAnnotations forbids annotations on the Route, HTTPRoute or Ingress, which can configure the edge.
	ForbidExposeAnnotations Restriction = "exposeAnnotations"
	// ForbidCommandAndArgs forbids spec.workload.overrides.command and .args, .sidecars and .initContainers.
	ForbidCommandAndArgs Restriction = "commandAndArgs"
	// ForbidExternalProviders forbids spec.externalProviders.
	ForbidExternalProviders Restriction = "externalProviders"
	// ForbidCodeVariables forbids spec.workload.overrides.envFrom, and variables in .env that select code or the
	// configuration.
	ForbidCodeVariables Restriction = "codeVariables"
	// ForbidMountsOverImage forbids mounting over directories of the image by spec.workload.overrides.volumeMounts or
	// .storage.
	ForbidMountsOverImage Restriction = "mountsOverImage"
)

// Restrictions returns all restrictions.
func Restrictions() []Restriction {
	return []Restriction{
		ForbidHostPathVolumes, ForbidForeignServiceAccounts, ForbidIngressWithoutHostname, ForbidCommandAndArgs,
		ForbidExternalProviders, ForbidCodeVariables, ForbidMountsOverImage, ForbidExposeAnnotations,
	}
}

// parseForbid parses KeyForbid. Unknown names are errors, because ignoring a misspelled one would allow the feature.
func parseForbid(text string) ([]Restriction, error) {
	var names []string
	if err := decode([]byte(text), &names); err != nil {
		return nil, fmt.Errorf("ConfigMap %s, key %s: not a YAML list of names such as %s: %w", ConfigMapName, KeyForbid,
			ForbidHostPathVolumes, err)
	}
	var known []string
	for _, r := range Restrictions() {
		known = append(known, string(r))
	}
	var forbidden []Restriction
	for i, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("ConfigMap %s, key %s[%d]: Unsupported value: %q: %sknown names: %s",
				ConfigMapName, KeyForbid, i, name, problem.DidYouMean(name, known), strings.Join(known, ", "))
		}
		forbidden = append(forbidden, Restriction(name))
	}
	return forbidden, nil
}
