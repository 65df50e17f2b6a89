// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Output is the flag --output of verbs that print text by default.
type Output struct{ format string }

const (
	formatJSON = "json"
	formatYAML = "yaml"
)

func outputFormats() []string { return []string{formatJSON, formatYAML} }

// AddTo adds the flag to a command.
func (o *Output) AddTo(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&o.format, "output", "o", "", "machine-readable output: "+strings.Join(outputFormats(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputFormats(),
		cobra.ShellCompDirectiveNoFileComp))
}

// Check returns an error if the value of the flag is invalid.
func (o *Output) Check() error {
	if o.format != "" && !slices.Contains(outputFormats(), o.format) {
		return fmt.Errorf("--output %q: choose one of %s", o.format, strings.Join(outputFormats(), ", "))
	}
	return nil
}

// MachineReadable reports whether the output is machine-readable.
func (o *Output) MachineReadable() bool { return o.format != "" }

// SetYAML selects YAML.
func (o *Output) SetYAML() { o.format = formatYAML }

// Print prints a value in the selected format, or calls forEyes for text.
func (o *Output) Print(w io.Writer, value any, text func(io.Writer) error) error {
	switch o.format {
	case formatJSON:
		return PrintJSON(w, value)
	case formatYAML:
		return PrintYAML(w, value)
	}
	return text(w)
}

// PrintJSON prints a value as indented JSON.
func PrintJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(MachineReadable(w))
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// PrintYAML prints a value as YAML.
func PrintYAML(w io.Writer, value any) error {
	text, err := YAML(value)
	if err == nil {
		_, err = MachineReadable(w).Write(text)
	}
	return err
}

// YAML returns a value as YAML, made from JSON in which control characters are escaped.
func YAML(value any) ([]byte, error) {
	var text bytes.Buffer
	if err := json.NewEncoder(&safeWriter{to: &text, machineReadable: true}).Encode(value); err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(text.Bytes())
}
