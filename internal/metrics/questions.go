// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"context"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/llamastack/llama-stack-k8s-operator/internal/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/probe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/prober"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// The questions to registries.
const (
	questionDigest = "digest"
	questionImage  = "image"
	questionFile   = "file"
)

// LookedUp notes a lookup in the answers of registries, with what became of it: imagelabels.Hit or imagelabels.Miss.
func (m *Metrics) LookedUp(result string) { m.lookups.WithLabelValues(result).Inc() }

// Servers returns an asker that asks by another one, and counts the questions.
func (m *Metrics) Servers(by prober.Asker) prober.Asker { return askerOf{by, m.servers} }

type askerOf struct {
	prober.Asker
	counted *prometheus.CounterVec
}

func (a askerOf) Ask(ctx context.Context, server probe.Server) (*probe.Observation, error) {
	answer, err := a.Asker.Ask(ctx, server)
	a.counted.WithLabelValues(result(err)).Inc()
	return answer, err
}

// Registries returns what connects by another one, to clients that count their questions.
func (m *Metrics) Registries(by func(*settings.Registries) imagelabels.Registry) func(*settings.Registries) imagelabels.Registry {
	return func(r *settings.Registries) imagelabels.Registry { return registryOf{by(r), m.registries} }
}

type registryOf struct {
	by      imagelabels.Registry
	counted *prometheus.CounterVec
}

func (r registryOf) Digest(ctx context.Context, reference string, keys authn.Keychain) (string, error) {
	digest, err := r.by.Digest(ctx, reference, keys)
	r.counted.WithLabelValues(questionDigest, result(err)).Inc()
	return digest, err
}

func (r registryOf) Image(ctx context.Context, reference string, keys authn.Keychain) (*registry.Image, error) {
	image, err := r.by.Image(ctx, reference, keys)
	r.counted.WithLabelValues(questionImage, result(err)).Inc()
	return image, err
}

func (r registryOf) File(ctx context.Context, reference string, image *registry.Image, layer, file string, keys authn.Keychain) ([]byte, error) {
	content, err := r.by.File(ctx, reference, image, layer, file, keys)
	r.counted.WithLabelValues(questionFile, result(err)).Inc()
	return content, err
}

func (r registryOf) FindFile(ctx context.Context, reference string, image *registry.Image, file string, keys authn.Keychain) ([]byte, error) {
	content, err := r.by.FindFile(ctx, reference, image, file, keys)
	r.counted.WithLabelValues(questionFile, result(err)).Inc()
	return content, err
}

func (r registryOf) FindMatch(
	ctx context.Context, reference string, image *registry.Image, what string, matches func(string) bool, keys authn.Keychain,
) ([]byte, error) {
	content, err := r.by.FindMatch(ctx, reference, image, what, matches, keys)
	r.counted.WithLabelValues(questionFile, result(err)).Inc()
	return content, err
}

func result(err error) string {
	if err != nil {
		return Failed
	}
	return Succeeded
}
