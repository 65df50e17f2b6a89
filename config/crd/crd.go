// SPDX-License-Identifier: Apache-2.0

package crd

import (
	_ "embed"
)

//go:embed bases/llamastack.io_llamastackdistributions.yaml
var llamaStackDistributions []byte

// LlamaStackDistributions returns the CustomResourceDefinition of LlamaStackDistribution as YAML. It must not be
// changed.
func LlamaStackDistributions() []byte { return llamaStackDistributions }
