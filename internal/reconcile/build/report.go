// SPDX-License-Identifier: Apache-2.0

package build

import "github.com/llamastack/llama-stack-k8s-operator/internal/problem"

// report collects what is wrong. The checks that need nothing of what was decided are its methods.
type report struct{ problem.Collector }
