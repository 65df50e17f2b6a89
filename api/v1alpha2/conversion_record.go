// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"encoding/json"
	"errors"
	"fmt"

	kjson "sigs.k8s.io/json"
)

const (
	// ConversionAnnotation holds a ConversionRecord: what the version that an object is shown or stored in has no field
	// for. It is written by conversion alone. Removing it removes what only it says.
	ConversionAnnotation = "llamastack.io/conversion"

	// AllowFromAnnotation stands on a ConfigMap, and names the namespaces, separated by commas, whose
	// LlamaStackDistributions may refer to it from there, as v1alpha1 can; "*" means all.
	AllowFromAnnotation = "llamastack.io/allow-from"

	// UnreadableConversionAnnotation takes a value of ConversionAnnotation that conversion could not use, or not
	// wholly, so that nothing is lost. Further values go to the same key with -2, -3 and so on.
	UnreadableConversionAnnotation = ConversionAnnotation + "-unreadable"

	// ConversionRecordVersion is the only version of ConversionRecord that there is.
	ConversionRecordVersion = 1
)

// The versions of the API, as ConversionRecord.Origin names them.
const (
	OriginV1alpha1 = "v1alpha1"
	OriginV1alpha2 = "v1alpha2"
)

// ConversionRecord is the content of ConversionAnnotation, as compact JSON. In an object of one version it carries what
// only the other version can say.
//
// +kubebuilder:object:generate=false
type ConversionRecord struct {
	// Version is ConversionRecordVersion.
	Version int `json:"version"`
	// Origin is the version that the object comes from, where that is not the version that carries the record.
	Origin string `json:"origin,omitempty"`
	// Kept are fields of the other version, by path such as "spec.server.containerSpec.name".
	Kept map[string]KeptValue `json:"kept,omitempty"`
	// Lost are the paths of fields for which the annotations of the object had no space.
	Lost []string `json:"lost,omitempty"`
}

// KeptValue is the value that a field has in the other version, where plain conversion would give it another one. It is
// an alias, because the generated documentation of the API lists every named type that another one refers to.
type KeptValue = struct {
	// Was is the value to restore; empty where the field was absent.
	Was json.RawMessage `json:"was,omitempty"`
	// If is what plain conversion gave instead; empty where it gave nothing. Was applies as long as it still does:
	// anything else is an edit, and the edit wins.
	If json.RawMessage `json:"if,omitempty"`
}

// ParseConversionRecord reads a value of ConversionAnnotation. An error says why it is not one: not JSON, of another
// version, or with members that this version does not have. The error does not quote the value.
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
