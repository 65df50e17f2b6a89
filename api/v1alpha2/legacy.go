// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// LegacySettings are the settings of v1alpha1 that v1alpha2 does not have.
//
// +kubebuilder:object:generate=false
type LegacySettings struct {
	// FromV1alpha1 means that the object was created in v1alpha1 and uses no field that only v1alpha2 has. Rules that are
	// newer than v1alpha1 are warnings for it.
	FromV1alpha1 bool
	// OverrideConfigNamespace is the namespace of the ConfigMap in spec.overrideConfig; empty for the namespace of the
	// object.
	OverrideConfigNamespace string
	// CABundleNamespace is the namespace of the ConfigMap in spec.networking.tls.caBundle; empty for the namespace of the
	// object.
	CABundleNamespace string
	// CABundleKeys are the trusted keys of that ConfigMap, if given.
	CABundleKeys []string
	// ContainerName is the name of the server's container; empty for the default.
	ContainerName string
	// AllowedFromV1alpha2 means that a client wrote spec.networking.allowedFrom in v1alpha2.
	AllowedFromV1alpha2 bool
	// Lost are the paths of fields that did not fit into the annotations.
	Lost []string
	// Problem is the reason why the conversion annotation is invalid, or empty. If it is set, the other fields are zero.
	Problem string
}

// Legacy returns the settings of v1alpha1 in the object's conversion annotation. It ignores settings of a ConfigMap
// that the spec no longer names, and values of the wrong type.
//
// An object with neither spec.distribution.name nor spec.distribution.image is valid only in v1alpha1, and needs no
// setting.
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
		FromV1alpha1:        record.Origin == OriginV1alpha1 && !obj.Spec.usesV1alpha2Only(),
		AllowedFromV1alpha2: slices.ContainsFunc(obj.ManagedFields, writesAllowedFrom),
		Lost:                record.Lost,
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

func writesAllowedFrom(entry metav1.ManagedFieldsEntry) bool { return WritesAllowedFrom(&entry) }

// WritesAllowedFrom reports whether a client wrote spec.networking.allowedFrom in v1alpha2.
func WritesAllowedFrom(entry *metav1.ManagedFieldsEntry) bool {
	var fields struct {
		Spec struct {
			Networking struct {
				AllowedFrom json.RawMessage `json:"f:allowedFrom"`
			} `json:"f:networking"`
		} `json:"f:spec"`
	}
	return entry.APIVersion == GroupVersion.String() && entry.FieldsV1 != nil &&
		json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && fields.Spec.Networking.AllowedFrom != nil
}

// legacyConfigMap is a reference to a ConfigMap in the form of v1alpha1.
//
// +kubebuilder:object:generate=false
type legacyConfigMap struct {
	ConfigMapName      string   `json:"configMapName"`
	ConfigMapNamespace string   `json:"configMapNamespace"`
	ConfigMapKeys      []string `json:"configMapKeys"`
}

// keptValue returns a kept value, or false and the zero value if it is absent or has the wrong type.
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

// usesV1alpha2Only reports whether the spec sets a field that v1alpha1 does not have.
func (s *LlamaStackDistributionSpec) usesV1alpha2Only() bool {
	if s.Providers != nil || s.Resources != nil || s.Storage != nil || len(s.Disabled) > 0 ||
		s.ExternalProviders != nil || s.Auth != nil ||
		s.Monitoring != nil || s.Workload.usesV1alpha2Only() {
		return true
	}
	if tls := s.tls(); tls != nil && (tls.Enabled != nil || tls.SecretName != nil || len(tls.CABundles) > 0) {
		return true
	}
	if s.Networking == nil {
		return false
	}
	return s.Networking.Proxy != nil || s.Networking.Egress != nil || s.Networking.describesEdge() ||
		s.Networking.AllowedFrom.usesV1alpha2Only()
}

func (a *AllowedFromSpec) usesV1alpha2Only() bool {
	return a != nil && (a.Pods != nil || a.Exclusive != nil)
}

func (w *WorkloadSpec) usesV1alpha2Only() bool {
	return w != nil && (w.Scheduling != nil || len(w.ImagePullSecrets) > 0 || w.PodMetadata != nil || w.Rollback != nil ||
		len(w.ResourceClaims) > 0 || w.Storage.usesV1alpha2Only() || w.Autoscaling.usesV1alpha2Only() ||
		w.StartupTimeoutSeconds != nil || w.ModelCache != nil || w.Overrides.usesV1alpha2Only())
}

func (o *WorkloadOverrides) usesV1alpha2Only() bool {
	return o != nil && len(o.EnvFrom)+len(o.Sidecars)+len(o.InitContainers) > 0
}

func (a *AutoscalingSpec) usesV1alpha2Only() bool {
	return a != nil && (len(a.Metrics) > 0 || a.Behavior != nil)
}

func (s *PVCStorageSpec) usesV1alpha2Only() bool {
	return s != nil && (s.StorageClassName != nil || len(s.AccessModes) > 0 || s.ClaimName != nil || s.WhenDeleted != nil)
}

// describesEdge reports whether spec.networking.expose is an object with more than a switch.
func (n *NetworkingSpec) describesEdge() bool {
	var expose struct {
		Hostname    string         `json:"hostname"`
		ClassName   string         `json:"className"`
		Annotations map[string]any `json:"annotations"`
		TLS         map[string]any `json:"tls"`
		Weight      *int64         `json:"weight"`
	}
	return n.Expose != nil && kjson.UnmarshalCaseSensitivePreserveInts(n.Expose.Raw, &expose) == nil &&
		(expose.Hostname != "" || expose.ClassName != "" || len(expose.Annotations)+len(expose.TLS) > 0 ||
			expose.Weight != nil)
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
