// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"sync/atomic"

	"github.com/llamastack/llama-stack-k8s-operator/internal/desired"
	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// Defaults are the Secrets and ConfigMaps that the operator's settings bring into the pods of all custom resources, in the namespace of each. A Gatherer sets
// them when it has read the settings, which is before it reads one of these objects: anyone who watches misses no change of what was read. The zero value, and
// nil, have none.
type Defaults struct {
	known atomic.Pointer[defaults]
}

type defaults struct {
	settings *settings.PodDefaults
	names    map[[2]string]bool // kind and name
}

// Has reports whether an object is one of them, in whatever namespace.
func (d *Defaults) Has(kind, name string) bool {
	if d == nil {
		return false
	}
	known := d.known.Load()
	return known != nil && known.names[[2]string{kind, name}]
}

// In returns them for a namespace.
func (d *Defaults) In(namespace string) []objects.Reference {
	if d == nil {
		return nil
	}
	known := d.known.Load()
	if known == nil {
		return nil
	}
	return desired.DefaultReferences(known.settings, namespace)
}

// Set replaces them.
func (d *Defaults) Set(s *settings.PodDefaults) {
	if d == nil {
		return
	}
	known := &defaults{settings: s, names: map[[2]string]bool{}}
	for _, ref := range desired.DefaultReferences(s, "") {
		known.names[[2]string{ref.Kind, ref.Name}] = true
	}
	d.known.Store(known)
}
