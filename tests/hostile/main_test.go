// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

var cluster *framework.Cluster

func TestMain(m *testing.M) {
	framework.IsolatedMain(m, "hostile", func(c *framework.Cluster) error {
		cluster = c
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return c.Install(ctx)
	}, func() error { return nil })
}
