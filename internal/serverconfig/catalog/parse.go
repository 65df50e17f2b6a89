// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Parse parses and validates the file of a release line.
func Parse(data []byte) (*Line, error) {
	line := &Line{}
	if err := decode(data, line); err != nil {
		return nil, err
	}
	if err := line.Check(); err != nil {
		return nil, err
	}
	line.readPatches(data)
	return line, nil
}

func decode(data []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	return decoder.Decode(into)
}

// Check reports unsorted rows, references to missing fields, and unknown types.
func (l *Line) Check() error {
	if l.Name == "" || l.Package == "" || l.PortEnv == "" {
		return errors.New("line, package and portEnv are required")
	}
	for _, api := range slices.Sorted(maps.Keys(l.Rows)) {
		rows := l.Rows[api]
		for i := range rows {
			if err := l.checkRow(&rows[i]); err != nil {
				return fmt.Errorf("%s %s: %w", api, rows[i].Type, err)
			}
			if i > 0 && rows[i-1].Type >= rows[i].Type {
				return fmt.Errorf("%s: %s follows %s: rows must be sorted by type and unique", api, rows[i].Type,
					rows[i-1].Type)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Objects)) {
		if err := l.checkFields(l.Objects[name]); err != nil {
			return fmt.Errorf("object %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Backends)) {
		if form := l.Backends[name].Credentials; !slices.Contains(credentialForms, form) {
			return fmt.Errorf("backend %s takes its credentials in the unknown form %q", name, form)
		}
		if err := l.checkFields(l.Backends[name].Fields); err != nil {
			return fmt.Errorf("backend %s: %w", name, err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(l.Stores)) {
		if kind := l.Stores[name].Kind; kind != KV && kind != SQL {
			return fmt.Errorf("store %s is of the unknown kind %q", name, kind)
		}
	}
	if err := l.checkAuth(); err != nil {
		return err
	}
	return l.checkFields(l.Sections)
}

func (l *Line) checkRow(p *Provider) error {
	targets := []string{p.Key, p.Region, p.DeploymentName, p.DataPath}
	if p.Endpoint != nil {
		targets = append(targets, p.Endpoint.Field, p.Endpoint.PortField)
		if !slices.Contains(endpointKinds, p.Endpoint.Kind) {
			return fmt.Errorf("unknown endpoint kind %q", p.Endpoint.Kind)
		}
		if (p.Endpoint.Kind == EndpointHostPort) != (p.Endpoint.PortField != "") {
			return fmt.Errorf("portField belongs to kind %s and to no other", EndpointHostPort)
		}
	}
	targets = slices.AppendSeq(targets, maps.Keys(p.Example))
	for _, field := range targets {
		if _, ok := p.Fields[field]; field != "" && !ok {
			return fmt.Errorf("no such field: %s", field)
		}
	}
	return l.checkFields(p.Fields)
}

func (l *Line) checkFields(fields map[string]Field) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := fields[name]
		if !slices.Contains(fieldTypes, field.Type) {
			return fmt.Errorf("field %s has the unknown type %q", name, field.Type)
		}
		for _, other := range append(slices.Clone(field.AnyOf), field.Elements) {
			if other != "" && !slices.Contains(fieldTypes, other) {
				return fmt.Errorf("field %s has the unknown type %q", name, other)
			}
		}
		if _, ok := l.Objects[field.Object]; field.Object != "" && !ok {
			return fmt.Errorf("field %s: no object %s", name, field.Object)
		}
	}
	return nil
}
