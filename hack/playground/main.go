// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/playground"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

type sample struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// firstSample is the sample that the page begins with.
const firstSample = "v1alpha2-simple"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "playground:", err)
		os.Exit(1)
	}
}

func run() error {
	samples, err := read(filepath.Join("config", "samples"))
	if err != nil {
		return err
	}
	lines := catalog.Lines()
	slices.Reverse(lines)
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	engine, err := playground.New()
	if err != nil {
		return err
	}
	result, err := engine.Run(context.Background(), playground.Request{Text: samples[0].Text})
	if err != nil {
		return err
	}
	return encoder.Encode(map[string]any{"samples": samples, "lines": lines, "answer": result})
}

// read returns the samples of the stored version of the API, beginning with first.
func read(dir string) ([]sample, error) {
	files, err := filepath.Glob(filepath.Join(dir, "v1alpha2-*.yaml"))
	if err != nil {
		return nil, err
	}
	var samples []sample
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		title := strings.ReplaceAll(strings.TrimPrefix(name, "v1alpha2-"), "-", " ")
		_, own, _ := strings.Cut(string(text), "#\n") // the header has the license
		samples = append(samples, sample{Name: name, Title: title, Text: own})
	}
	at := slices.IndexFunc(samples, func(s sample) bool { return s.Name == firstSample })
	if at < 0 {
		return nil, fmt.Errorf("%s has no %s", dir, firstSample)
	}
	return slices.Concat(samples[at:at+1], samples[:at], samples[at+1:]), nil
}
