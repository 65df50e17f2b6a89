// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"encoding/json"
	"errors"
	"fmt"

	kjson "sigs.k8s.io/json"
)

const (
	// ConversionAnnotation holds a ConversionRecord with the fields that the object's version does not have. Only
	// conversion writes it; removing it removes these fields.
	ConversionAnnotation = "llamastack.io/conversion"

	// AllowFromAnnotation is the annotation of a ConfigMap with the namespaces, separated by commas, whose
	// LlamaStackDistributions may refer to it, as in v1alpha1; "*" means all.
	AllowFromAnnotation = "llamastack.io/allow-from"

	// UnreadableConversionAnnotation keeps a value of ConversionAnnotation that conversion could not use completely.
	// Further values get the suffixes -2, -3 and so on.
	UnreadableConversionAnnotation = ConversionAnnotation + "-unreadable"

	// ConversionRecordVersion is the only version of ConversionRecord.
	ConversionRecordVersion = 1
)

// The values of ConversionRecord.Origin.
const (
	OriginV1alpha1 = "v1alpha1"
	OriginV1alpha2 = "v1alpha2"
)

// ConversionRecord is the content of ConversionAnnotation, as compact JSON: the fields that only the other version has.
//
// +kubebuilder:object:generate=false
type ConversionRecord struct {
	// Version is ConversionRecordVersion.
	Version int `json:"version"`
	// Origin is the version in which the object was created, if it differs from the object's version.
	Origin string `json:"origin,omitempty"`
	// Kept are fields of the other version, by path such as "spec.server.containerSpec.name".
	Kept map[string]KeptValue `json:"kept,omitempty"`
	// Lost are the paths of fields that did not fit into the annotations.
	Lost []string `json:"lost,omitempty"`
}

// KeptValue is the value of a field in the other version, if conversion without the record would change it. It is an
// alias because the generated API documentation lists every named type.
type KeptValue = struct {
	// Was is the value to restore; empty if the field was absent.
	Was json.RawMessage `json:"was,omitempty"`
	// If is the converted value without the record, or empty for none. Was is restored only if the field still has this
	// value; otherwise it was edited.
	If json.RawMessage `json:"if,omitempty"`
}

// ParseConversionRecord parses a value of ConversionAnnotation. It fails for invalid JSON, another version and unknown
// members, with an error that does not quote the value.
func ParseConversionRecord(value string) (*ConversionRecord, error) {
	var record ConversionRecord
	strict, err := kjson.UnmarshalStrict([]byte(value), &record)
	switch {
	case err != nil:
		return nil, errors.New("not the JSON of a conversion record")
	case record.Version != ConversionRecordVersion:
		return nil, fmt.Errorf("version %d of the conversion record is not known: this operator writes and reads version %d",
			record.Version, ConversionRecordVersion)
	case len(strict) > 0:
		return nil, errors.New("the conversion record has unknown or repeated members")
	case record.Origin != "" && record.Origin != OriginV1alpha1 && record.Origin != OriginV1alpha2:
		return nil, errors.New("the conversion record names an unknown origin")
	}
	return &record, nil
}
