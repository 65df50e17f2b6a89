// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

const (
	formatConfig = "config"
	formatYAML   = "yaml"
	formatJSON   = "json"
	formatEnv    = "env"
	formatAccess = "access"
)

func formats() []string {
	return []string{formatConfig, formatYAML, formatJSON, formatEnv, formatAccess}
}

func show(resources []*offline.Resource, format string, streams cli.Streams) error {
	var out bytes.Buffer
	var err error
	to := cli.MachineReadable(streams.Out)
	switch format {
	case formatConfig:
		showConfig(&out, resources, streams.Err)
	case formatYAML:
		err = showYAML(&out, resources)
	case formatJSON:
		err = showJSON(&out, resources)
	case formatEnv:
		to = streams.Out
		err = showEnv(&out, resources)
	case formatAccess:
		to = streams.Out
		err = showAccess(&out, resources, streams.Err)
	}
	if err != nil {
		return err
	}
	_, err = to.Write(out.Bytes())
	return err
}

// showConfig prints config.yaml of each resource as YAML documents.
func showConfig(out *bytes.Buffer, resources []*offline.Resource, notes io.Writer) {
	for _, r := range resources {
		text := configuration(r, notes)
		if text == nil {
			continue
		}
		if out.Len() > 0 {
			out.WriteString("---\n")
		}
		out.Write(text)
		if !bytes.HasSuffix(text, []byte("\n")) {
			out.WriteByte('\n')
		}
	}
}

// configuration returns the configuration; nil, after a note, if the image runs its own.
func configuration(r *offline.Resource, notes io.Writer) []byte {
	text := r.Configuration()
	if text == nil {
		_, _ = fmt.Fprintf(notes, "%s: note: %s: %s\n", r.Document.Position(), r.Name(), offline.ImageConfigNote)
	}
	return text
}

func showYAML(out *bytes.Buffer, resources []*offline.Resource) error {
	text, err := offline.YAML(resources)
	out.Write(text)
	return err
}

func showJSON(out *bytes.Buffer, resources []*offline.Resource) error {
	list, err := offline.Contents(resources)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false) // keep <on-cluster> readable
	encoder.SetIndent("", "  ")
	return encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": list})
}

// showEnv prints the environment of the server's container as a table.
func showEnv(out *bytes.Buffer, resources []*offline.Resource) error {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "RESOURCE\tNAME\tVALUE\tSECRET\tKEY")
	for _, r := range resources {
		for _, v := range environment(r) {
			value, from, key := v.Value, "-", "-"
			switch {
			case v.ValueFrom == nil:
			case v.ValueFrom.SecretKeyRef != nil:
				value, from, key = "-", v.ValueFrom.SecretKeyRef.Name, v.ValueFrom.SecretKeyRef.Key
			case v.ValueFrom.FieldRef != nil:
				value = "(" + v.ValueFrom.FieldRef.FieldPath + ")"
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", r.Name(), v.Name, value, from, key)
		}
	}
	return table.Flush()
}

func environment(r *offline.Resource) []corev1.EnvVar {
	for _, o := range r.Desired.Objects {
		d, ok := o.(*appsv1.Deployment)
		if !ok {
			continue
		}
		return d.Spec.Template.Spec.Containers[0].Env
	}
	return nil
}
