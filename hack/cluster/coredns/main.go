// SPDX-License-Identifier: Apache-2.0

// Command coredns is CoreDNS with only the plugins that a cluster's DNS needs;
// the upstream command links every plugin and takes minutes to build.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func main() { coremain.Run() }
