// SPDX-License-Identifier: Apache-2.0

// Command etcd is the upstream server under the name that people know; the upstream
// package is called server, and so would be its binary.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
