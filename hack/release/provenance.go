// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"runtime"
)

// statement is an in-toto statement with SLSA provenance, https://slsa.dev/spec/v1.0/provenance. The publisher must
// sign it.
type statement struct {
	Type          string     `json:"_type"`
	Subject       []subject  `json:"subject"`
	PredicateType string     `json:"predicateType"`
	Predicate     provenance `json:"predicate"`
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

type provenance struct {
	BuildDefinition struct {
		BuildType            string            `json:"buildType"`
		ExternalParameters   map[string]string `json:"externalParameters"`
		ResolvedDependencies []subject         `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
	RunDetails struct {
		Builder map[string]string `json:"builder"`
	} `json:"runDetails"`
}

func (r *release) provenance() error {
	const source = "https://github.com/llamastack/llama-stack-k8s-operator"
	names, err := r.files()
	if err != nil {
		return err
	}
	s := statement{Type: "https://in-toto.io/Statement/v1", PredicateType: "https://slsa.dev/provenance/v1"}
	for _, name := range names {
		digest, err := checksum(r.path(name))
		if err != nil {
			return err
		}
		s.Subject = append(s.Subject, subject{name, map[string]string{"sha256": digest}})
	}
	definition := &s.Predicate.BuildDefinition
	definition.BuildType = source + "/blob/main/docs/maintainers/releasing.md"
	definition.ExternalParameters = map[string]string{"version": r.version, "image": r.image, "go": runtime.Version()}
	definition.ResolvedDependencies = []subject{{"git+" + source, map[string]string{"gitCommit": r.commit}}}
	s.Predicate.RunDetails.Builder = map[string]string{"id": source + "/blob/main/Makefile"}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("provenance.json"), append(text, '\n'), 0o644)
}
