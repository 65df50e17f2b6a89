// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// parallelism is the number of packages read at once: each needs a Python process with one core and some 300 MB.
const parallelism = 2

// introspection is the output of introspect.py.
type introspection struct {
	Package              string `json:"package"`
	Release              string `json:"release"`
	Env                  environment
	NeedsInsecure        bool                           `json:"needsInsecure"`
	DefaultStorage       bool                           `json:"defaultStorage"`
	RegisteredEverywhere bool                           `json:"registeredEverywhere"`
	ToolGroupsRegistered bool                           `json:"toolGroupsRegistered"`
	RegistersStores      bool                           `json:"vectorStoresRegistered"`
	APIsMustBeServed     bool                           `json:"apisMustBeServed"`
	HostForWorkers       bool                           `json:"hostForWorkers"`
	WritesConfig         bool                           `json:"writesConfig"`
	ServesModelID        bool                           `json:"servesModelID"`
	VerifiesAuthTLS      bool                           `json:"verifiesAuthTLS"`
	TenantsBreakPostgres bool                           `json:"tenantsBreakPostgres"`
	Rules                catalog.Rules                  `json:"rules"`
	APIs                 map[string]catalog.API         `json:"apis"`
	Internal             []string                       `json:"internal"`
	Sections             map[string]field               `json:"sections"`
	Providers            map[string]map[string]provider `json:"providers"`
	Storage              storage                        `json:"storage"`
	Objects              map[string]map[string]field    `json:"objects"`
	Starter              map[string]any                 `json:"starter"`
	Distributions        map[string]map[string]any      `json:"distributions"`
}

type environment struct{ Port, Log, Home, Metrics string }

type storage struct {
	Backends map[string]struct{ Fields map[string]field }
	Stores   map[string]struct {
		Store   catalog.StoreKind
		Object  string
		Default map[string]any
	}
}

type provider struct {
	Fields              map[string]field
	Needs, Uses         []string
	ToolGroup           string
	Deprecated, Refused bool
}

// field is a catalog.Field in the JSON form of introspect.py.
type field struct {
	Type     catalog.FieldType
	Secret   bool
	Required bool
	Nullable bool
	NotNull  bool
	Store    catalog.StoreKind
	Object   string
	AnyOf    []catalog.FieldType
	Elements catalog.FieldType
	Values   []string
	Min      *float64
	Max      *float64
	Above    *float64
	Chooses  bool
	Only     []string
	Default  any
	AliasOf  string
}

func (f field) catalogField() catalog.Field {
	if n, ok := f.Default.(json.Number); ok {
		f.Default = plainNumber(n)
	}
	return catalog.Field(f)
}

func plainNumber(n json.Number) any {
	if i, err := n.Int64(); err == nil {
		return i
	}
	decimal, err := n.Float64()
	if err != nil {
		return n.String()
	}
	return decimal
}

// introspectAll reads the packages of releases; a release line means its newest release.
func introspectAll(ctx context.Context, root string, releases []string) (map[string]*introspection, error) {
	introspections, failures := make([]*introspection, len(releases)), make([]error, len(releases))
	semaphore := make(chan struct{}, parallelism)
	var group sync.WaitGroup
	for i, release := range releases {
		group.Go(func() {
			semaphore <- struct{}{}
			defer func() { <-semaphore }()
			introspections[i], failures[i] = introspect(ctx, root, release)
		})
	}
	group.Wait()
	byRelease := make(map[string]*introspection, len(releases))
	for i, release := range releases {
		byRelease[release] = introspections[i]
	}
	return byRelease, errors.Join(failures...)
}

func introspect(ctx context.Context, root, release string) (*introspection, error) {
	python, err := output(exec.CommandContext(ctx, filepath.Join(root, "tests", "server", "venv.sh"), release))
	if err != nil {
		return nil, err
	}
	introspected, err := readPackage(ctx, root, strings.TrimSpace(string(python)))
	if err != nil {
		return nil, fmt.Errorf("release %s: %w", release, err)
	}
	return introspected, nil
}

// readPackage returns the introspection of the package in a Python environment.
func readPackage(ctx context.Context, root, interpreter string) (*introspection, error) {
	cmd := exec.CommandContext(ctx, interpreter, filepath.Join(root, "hack", "catalog", "introspect.py"))
	// Byte code is cached outside the checkout, which makes the next run three times as fast.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "PYTHONDONTWRITEBYTECODE=")
	}), "PYTHONPYCACHEPREFIX="+filepath.Join(filepath.Dir(filepath.Dir(interpreter)), "pycache"))
	data, err := output(cmd)
	if err != nil {
		return nil, err
	}
	introspected := &introspection{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(introspected); err != nil {
		return nil, fmt.Errorf("output of introspect.py: %w", err)
	}
	return introspected, nil
}

func output(command *exec.Cmd) ([]byte, error) {
	data, err := command.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, exit.Stderr)
	}
	return data, err
}
