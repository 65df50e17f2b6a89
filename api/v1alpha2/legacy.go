// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	kjson "sigs.k8s.io/json"
)

// LegacySettings is what v1alpha1 says about an object and v1alpha2 has no field for.
//
// +kubebuilder:object:generate=false
type LegacySettings struct {
	// FromV1alpha1 reports that the object was created through v1alpha1 and that its spec uses nothing that only v1alpha2
	// has: rules that are newer than v1alpha1 are warnings for it.
	FromV1alpha1 bool
	// OverrideConfigNamespace is the namespace of the ConfigMap that spec.overrideConfig names; empty for the
	// namespace of the object.
	OverrideConfigNamespace string
	// CABundleNamespace is the namespace of the ConfigMap that spec.networking.tls.caBundle names; empty for the
	// namespace of the object.
	CABundleNamespace string
	// CABundleKeys are the keys of that ConfigMap to trust, all of them; empty where v1alpha1 names none.
	CABundleKeys []string
	// ContainerName is the name of the server's container; empty for the operator's own choice.
	ContainerName string
	// Lost are the paths of fields that conversion could not carry, because the annotations had no room for them.
	Lost []string
	// Problem says why the conversion annotation cannot be read; empty where it can or where there is none. The other
	// fields are then zero.
	Problem string
}

// Legacy returns what conversion carried from v1alpha1 in an annotation of the object. Settings of a ConfigMap count
// only while the spec still names the ConfigMap that they were given for. It never fails: values of a wrong type count
// as absent.
//
// That v1alpha1 admits an object with neither spec.distribution.name nor spec.distribution.image needs no setting: the
// spec shows it.
func Legacy(obj *LlamaStackDistribution) LegacySettings {
	value, ok := obj.Annotations[ConversionAnnotation]
	if !ok {
		return LegacySettings{}
	}
	record, err := ParseConversionRecord(value)
	if err != nil {
		return LegacySettings{Problem: err.Error()}
	}

	settings := LegacySettings{
		FromV1alpha1: record.Origin == OriginV1alpha1 && !obj.Spec.usesV1alpha2Only(),
		Lost:         record.Lost,
	}
	settings.ContainerName, _ = keptValue[string](record, "spec.server.containerSpec.name")

	if override := obj.Spec.OverrideConfig; override != nil {
		reference, _ := keptValue[legacyConfigMap](record, "spec.server.userConfig")
		if reference.ConfigMapName == override.ConfigMapName {
			settings.OverrideConfigNamespace = reference.ConfigMapNamespace
		}
	}
	if bundle := obj.Spec.caBundle(); bundle != nil {
		reference, _ := keptValue[legacyConfigMap](record, "spec.server.tlsConfig.caBundle")
		if reference.ConfigMapName == bundle.ConfigMapName {
			settings.CABundleNamespace = reference.ConfigMapNamespace
			settings.CABundleKeys = reference.ConfigMapKeys
		}
	}
	return settings
}

// legacyConfigMap is a reference to a ConfigMap as v1alpha1 writes it.
//
// +kubebuilder:object:generate=false
type legacyConfigMap struct {
	ConfigMapName      string   `json:"configMapName"`
	ConfigMapNamespace string   `json:"configMapNamespace"`
	ConfigMapKeys      []string `json:"configMapKeys"`
}

// keptValue reads a kept value, and reports whether there is one of the right type. Otherwise it is zero as a whole: a
// wrong value leaves no half behind.
func keptValue[T any](record *ConversionRecord, path string) (value T, ok bool) {
	raw := record.Kept[path].Was
	if len(raw) == 0 {
		return value, false
	}
	var decoded T
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &decoded); err != nil {
		return value, false
	}
	return decoded, true
}

// usesV1alpha2Only reports whether the spec says something that v1alpha1 has no field for.
func (s *LlamaStackDistributionSpec) usesV1alpha2Only() bool {
	if s.Providers != nil || s.Resources != nil || s.Storage != nil || len(s.Disabled) > 0 ||
		s.ExternalProviders != nil || s.Auth != nil ||
		s.Monitoring != nil || s.Workload.usesV1alpha2Only() {
		return true
	}
	if tls := s.tls(); tls != nil && (tls.Enabled != nil || tls.SecretName != nil) {
		return true
	}
	if s.Networking == nil {
		return false
	}
	return s.Networking.hasHostname()
}

func (w *WorkloadSpec) usesV1alpha2Only() bool {
	return w != nil && (w.Scheduling != nil || len(w.ImagePullSecrets) > 0 || w.PodMetadata != nil ||
		len(w.ResourceClaims) > 0 ||
		w.Overrides != nil && len(w.Overrides.EnvFrom) > 0)
}

// hasHostname reports whether spec.networking.expose is an object with a host name.
func (n *NetworkingSpec) hasHostname() bool {
	var expose struct {
		Hostname string `json:"hostname"`
	}
	return n.Expose != nil && kjson.UnmarshalCaseSensitivePreserveInts(n.Expose.Raw, &expose) == nil &&
		expose.Hostname != ""
}

func (s *LlamaStackDistributionSpec) tls() *TLSSpec {
	if s.Networking == nil {
		return nil
	}
	return s.Networking.TLS
}

func (s *LlamaStackDistributionSpec) caBundle() *CABundleConfig {
	if tls := s.tls(); tls != nil {
		return tls.CABundle
	}
	return nil
}
