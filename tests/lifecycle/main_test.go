// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework/suite"
)

func TestMain(m *testing.M) { suite.Main(m, suite.Lifecycle, removeOwnClusters) }
