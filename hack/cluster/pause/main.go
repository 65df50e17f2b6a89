// SPDX-License-Identifier: Apache-2.0

// Command pause is the process of a pod's sandbox container: it holds the pod's
// namespaces open until it is told to end.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	<-stop
}
