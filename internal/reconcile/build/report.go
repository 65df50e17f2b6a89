// SPDX-License-Identifier: Apache-2.0

package build

import "github.com/llamastack/llama-stack-k8s-operator/internal/problem"

// report collects problems and has the checks that need no earlier decision.
type report struct{ problem.Collector }
