// SPDX-License-Identifier: Apache-2.0

// Command crdgen writes the CustomResourceDefinitions of Go API packages as controller-gen does, but without the
// descriptions of types of other packages (pods, volumes, environment variables), which would be most of the file (R59,
// L-32).
//
// Usage: crdgen -output DIRECTORY PACKAGE...
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"sigs.k8s.io/controller-tools/pkg/genall"
)

func main() {
	output := flag.String("output", "", "directory to write the CustomResourceDefinitions to")
	flag.Parse()
	if err := run(*output, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "crdgen:", err)
		os.Exit(1)
	}
}

func run(output string, packages []string) error {
	if output == "" || len(packages) == 0 {
		return errors.New("the output directory and at least one package are required: crdgen -output DIRECTORY PACKAGE")
	}
	var generator genall.Generator = crds{}
	runtime, err := genall.Generators{&generator}.ForRoots(packages...)
	if err != nil {
		return fmt.Errorf("load %v: %w", packages, err)
	}
	runtime.OutputRules.Default = genall.OutputToDirectory(output)
	if failed := runtime.Run(); failed {
		return errors.New("some CRDs could not be generated: see the messages above")
	}
	return nil
}
