// SPDX-License-Identifier: Apache-2.0

// Command provider-installer installs Python packages of external providers into a server's pod. It runs in init
// containers:
//
//	provider-installer prepare DIRECTORY
//	provider-installer install --provider ID [--module PACKAGE] [--wheel FILE]... DIRECTORY
//
// The first form runs in the operator's image and copies the program to a shared directory. The second runs in a
// provider's image and unpacks its wheels there. The last line of output is the result or the error.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/providerinstaller"
)

func main() {
	if err := run(os.Args[1:], providerinstaller.Source, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: provider-installer prepare DIRECTORY | " +
	"provider-installer install --provider ID [--module PACKAGE] [--wheel FILE]... DIRECTORY")

func run(args []string, source string, out io.Writer) error {
	switch {
	case len(args) == 2 && args[0] == "prepare":
		program, err := os.Executable()
		if err != nil {
			return err
		}
		return providerinstaller.Layout(args[1]).Prepare(program)
	case len(args) > 0 && args[0] == "install":
		return install(args[1:], source, out)
	}
	return errUsage
}

func install(args []string, source string, out io.Writer) error {
	p := providerinstaller.Provider{Source: source}
	flags := flag.NewFlagSet("install", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&p.ID, "provider", "", "id of the provider")
	flags.StringVar(&p.Module, "module", "", "Python package of which the server loads the module \"provider\"")
	flags.Func("wheel", "wheel that must be there", func(file string) error {
		p.Wheels = append(p.Wheels, file)
		return nil
	})
	if err := flags.Parse(args); err != nil || flags.NArg() != 1 || p.ID == "" {
		return errUsage
	}
	m, err := providerinstaller.Layout(flags.Arg(0)).Install(&p)
	if err != nil {
		return fmt.Errorf("cannot install provider %s: %w", p.ID, err)
	}
	var names []string
	for i := range m.Distributions {
		names = append(names, m.Distributions[i].Name+" "+m.Distributions[i].Version)
	}
	_, err = fmt.Fprintf(out, "provider %s: %d distributions installed: %s\n", p.ID, len(names), strings.Join(names, ", "))
	return err
}
