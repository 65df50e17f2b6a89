// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// The range of ports that the server accepts.
const (
	minPort int32 = 1024
	maxPort int32 = 65535
)

// allAddresses accepts IPv4 and IPv6 on one socket. Some releases use it by default for several workers.
const allAddresses = "::"

// Apply sets the port, the number of workers, and TLS.
func Apply(doc *document.Document, line *catalog.Line, spec *v1alpha2.LlamaStackDistributionSpec,
	problems *problem.Collector) {
	port := v1alpha2.DefaultPort
	if n := spec.Networking; n != nil && n.Port != nil {
		port = *n.Port
	}
	if port < minPort || port > maxPort {
		problems.Add(problem.Problem{
			Reason: problem.InvalidField, Path: "spec.networking.port", Type: field.ErrorTypeInvalid, Value: port,
			Detail: fmt.Sprintf("the server accepts only ports from %d to %d", minPort, maxPort),
			Fix:    fmt.Sprintf("choose a port in this range, or remove the field for %d", v1alpha2.DefaultPort),
		})
		return
	}
	server := document.Ensure(doc.Root(), "server", yaml.MappingNode)
	document.Set(server, "port", document.Int(int64(port)))
	if w := spec.Workload; w != nil && w.Workers != nil {
		applyWorkers(doc, line, *w.Workers, problems)
	}
	applyTLS(doc, line, spec, problems)
}

// SetName adds the name of the base to a configuration without a name. The server requires one and does not use it.
func SetName(doc *document.Document, line *catalog.Line) {
	const current, previous = "distro_name", "image_name"
	switch {
	case doc.Section(previous) != nil:
	case line.Sections[previous].Required:
		document.Set(doc.Root(), previous, document.String(doc.Base().Name()))
	case doc.Section(current) == nil:
		document.Set(doc.Root(), current, document.String(doc.Base().Name()))
	}
}

// applyWorkers sets the number of workers, or warns if the patch release ignores it.
func applyWorkers(doc *document.Document, line *catalog.Line, workers int32, problems *problem.Collector) {
	reads := func(line *catalog.Line) bool { _, ok := line.ServerFields()["workers"]; return ok }
	later := release.LaterPatch(line, reads)
	if later == "" || reads(line) {
		SetWorkers(doc, line, workers)
		return
	}
	problems.Add(problem.Problem{
		Reason: problem.NoEffect, Severity: problem.Warning, Path: "spec.workload.workers",
		Detail: "has no effect: a server of " + line.Without(reads) + " does not read the number of workers",
		Fix:    later + ", or remove it",
	})
}

// SetWorkers sets the number of workers, and the host that several workers may need. A nil release line is unknown.
func SetWorkers(doc *document.Document, line *catalog.Line, workers int32) {
	server := document.Ensure(doc.Root(), "server", yaml.MappingNode)
	document.Set(server, "workers", document.Int(int64(workers)))
	if workers > 1 && line != nil && line.HostForWorkers && document.Text(document.Child(server, "host")) == "" {
		document.Set(server, "host", document.String(allAddresses))
	}
}
