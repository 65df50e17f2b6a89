// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/image"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// inputs are the documents and the cluster for the dry run.
type inputs struct {
	cluster           *offline.Cluster
	documents, others []*manifest.Document
}

// noteSkipped writes a note for each document of another kind that no dry run reads.
func (in *inputs) noteSkipped(resources []*offline.Resource, notes io.Writer) {
	for _, d := range in.others {
		if slices.ContainsFunc(resources, func(r *offline.Resource) bool { return r.Reads(d) }) {
			continue
		}
		why := offline.WhySkipped(d, "render")
		if why == "" {
			why = "skipped " + offline.Describe(d) + ": not a LlamaStackDistribution"
		}
		_, _ = fmt.Fprintf(notes, "%s: note: %s\n", d.Position(), why)
	}
}

// gather reads all files.
func gather(ctx context.Context, o *options, streams cli.Streams) (*inputs, error) {
	cluster, err := o.settings.Cluster(ctx, streams.In, streams.Err)
	if err != nil {
		return nil, err
	}
	cluster.Namespace = o.namespace
	if cluster.Replacement, err = replacement(ctx, o, cluster.Settings, streams); err != nil {
		return nil, err
	}
	documents, err := o.files.Read(streams.In)
	if err != nil {
		return nil, err
	}
	cluster.SetConfigMaps(documents)
	in := &inputs{cluster: cluster}
	for _, d := range documents {
		if offline.Recognizes(d) {
			in.documents = append(in.documents, d)
		} else {
			in.others = append(in.others, d)
		}
	}
	return in, nil
}

func replacement(ctx context.Context, o *options, known *settings.Settings, streams cli.Streams) (offline.Replacement,
	error) {
	s := offline.Replacement{Version: o.serverVersion}
	if o.base != "" {
		content, err := manifest.ReadBytes(o.base, streams.In)
		if err != nil {
			return s, fmt.Errorf("--base: %w", err)
		}
		s.Base = content
	}
	if o.imageLabels != "" {
		labels, err := readLabels(o.imageLabels, streams)
		if err != nil {
			return s, fmt.Errorf("--image-labels: %w", err)
		}
		if labels.Layer != nil && s.Base == nil {
			return s, fmt.Errorf("--image-labels: %s: the configuration is the file %s in the layer %s of the image: extract "+
				"it, and pass it with --base",
				o.imageLabels, labels.Layer.Path, labels.Layer.Digest)
		}
		s.Labels = labels
	}
	if o.image != "" {
		source := image.Source{Image: o.image, ServerVersion: o.serverVersion, PlainHTTP: o.plainHTTP}
		var err error
		if s.Labels, s.Package, err = source.Read(ctx, known); err != nil {
			return s, fmt.Errorf("--image: %w", err)
		}
	}
	return s, nil
}

func readLabels(file string, streams cli.Streams) (*oci.Labels, error) {
	content, err := manifest.ReadBytes(file, streams.In)
	if err != nil {
		return nil, err
	}
	raw, err := oci.Decode(content)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	labels, err := oci.Read(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return labels, nil
}

func (in *inputs) dryRun(ctx context.Context) []*offline.Resource {
	resources := make([]*offline.Resource, len(in.documents))
	for i, d := range in.documents {
		resources[i] = in.cluster.DryRun(ctx, d)
	}
	return resources
}
