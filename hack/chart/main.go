// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	chartDir    = "charts/llama-stack-k8s-operator"
	manifest    = "dist/install.yaml"
	watched     = "config/overlays/namespaced/watched"
	depth       = "config/overlays/namespaced/admin/depth"
	certManager = "config/overlays/cert-manager/certificates.yaml"
	alerts      = "config/prometheus/rules.yaml"
	servers     = "config/prometheus/servers.yaml"
	dashboards  = "config/dashboards"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	flag.Parse()
	if err := run(*root); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run writes the generated files of the chart, and removes those that are no longer generated.
func run(root string) error {
	files, err := templates(root)
	if err != nil {
		return err
	}
	for _, add := range []func(string, map[string]string) error{metadata, readme} {
		if err := add(root, files); err != nil {
			return err
		}
	}
	return write(filepath.Join(root, filepath.FromSlash(chartDir)), files)
}

// metadata adds Chart.yaml, whose version is the operator's.
func metadata(root string, files map[string]string) error {
	version, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return err
	}
	files["Chart.yaml"] = strings.ReplaceAll(chartYAML, "VERSION", strings.TrimSpace(string(version)))
	return nil
}

const chartYAML = `# ` + generated + `
apiVersion: v2
name: llama-stack-k8s-operator
description: Runs llama-stack servers on Kubernetes
type: application
version: VERSION
appVersion: VERSION
kubeVersion: ">=1.30.0-0"
home: https://github.com/llamastack/llama-stack-k8s-operator
sources:
- https://github.com/llamastack/llama-stack-k8s-operator
keywords: [llama-stack, ogx, llm, inference, operator]
maintainers:
- name: llama-stack-k8s-operator maintainers
  url: https://github.com/llamastack/llama-stack-k8s-operator
annotations:
  artifacthub.io/license: Apache-2.0
  artifacthub.io/operator: "true"
`

func write(dir string, files map[string]string) error {
	old, err := filepath.Glob(filepath.Join(dir, "templates", "*.yaml"))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range old {
		text, err := os.ReadFile(path)
		if _, current := files["templates/"+filepath.Base(path)]; err == nil && !current &&
			strings.Contains(string(text), generated) {
			err = os.Remove(path)
		}
		errs = append(errs, err)
	}
	for name, text := range files {
		errs = append(errs, os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o644))
	}
	return errors.Join(errs...)
}
