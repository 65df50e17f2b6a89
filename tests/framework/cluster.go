// SPDX-License-Identifier: Apache-2.0

package framework

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
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// commandTimeout bounds one call of the cluster command: building the binaries, once, takes minutes.
const commandTimeout = 30 * time.Minute

// kubernetesVariable has the directory whose go.mod pins another release of Kubernetes.
const kubernetesVariable = "LLSD_KUBERNETES"

// OldKubernetes reports whether the tests run on another release of Kubernetes than the newest: make test-oldest.
func OldKubernetes() bool { return os.Getenv(kubernetesVariable) != "" }

// Tier says which parts of a cluster run.
type Tier string

// The tiers.
const (
	// ControlPlane: API server and controllers. Pods stay pending.
	ControlPlane Tier = "controlplane"
	// Node: also a node, on which pods run. Linux and root.
	Node Tier = "node"
)

// Cluster is a running cluster, as the cluster command describes it.
type Cluster struct {
	Name        string `json:"name"`
	Dir         string `json:"dir"`
	Logs        string `json:"logs"`
	Kubeconfig  string `json:"kubeconfig"`
	Kubectl     string `json:"kubectl"`
	Etcd        string `json:"etcd"`
	HostAddress string `json:"hostAddress"`
	Registry    string `json:"registry"`

	// kept and groups are the keys and API groups at Snapshot, and since is the time of the last Restore.
	kept   map[string]keyOfStore
	groups []string
	since  time.Time
}

// StartCluster starts a cluster for this test binary. A suffix distinguishes several.
func StartCluster(tier Tier, suffix ...string) (*Cluster, error) {
	name := strings.Join(append([]string{"test", string(tier), strconv.Itoa(os.Getpid())}, suffix...), "-")
	arguments := []string{"up", "--tier", string(tier), "--name", name}
	if kubernetes := os.Getenv(kubernetesVariable); kubernetes != "" {
		arguments = append(arguments, "--kubernetes", kubernetes)
	}
	out, err := clusterCommand(arguments...)
	if err != nil {
		return nil, err
	}
	c := &Cluster{}
	if err := json.Unmarshal(out, c); err != nil {
		return nil, fmt.Errorf("the cluster command does not answer in JSON: %w: %s", err, out)
	}
	return c, nil
}

// Stop stops the cluster and removes everything but its logs.
func (c *Cluster) Stop() error {
	_, err := clusterCommand("down", "--name", c.Name)
	return err
}

// Remove stops the cluster and removes its logs as well.
func (c *Cluster) Remove() error {
	if err := c.Stop(); err != nil {
		return err
	}
	return os.RemoveAll(c.Dir)
}

// Load imports image archives into the node.
func (c *Cluster) Load(archives ...string) error {
	_, err := clusterCommand(append([]string{"load", "--name", c.Name}, archives...)...)
	return err
}

// AdminConfig returns the configuration of an administrator's client.
func (c *Cluster) AdminConfig() (*rest.Config, error) { return restConfig(c.Kubeconfig) }

// ServiceAccountConfig returns the configuration of a client with the permissions of a ServiceAccount.
func (c *Cluster) ServiceAccountConfig(namespace, name string) (*rest.Config, error) {
	file := c.kubeconfigOf(namespace, name)
	if _, err := clusterCommand("kubeconfig", "--name", c.Name, "--serviceaccount", namespace+"/"+name, "-o", file); err != nil {
		return nil, err
	}
	return restConfig(file)
}

func (c *Cluster) kubeconfigOf(namespace, name string) string {
	return filepath.Join(c.Dir, namespace+"."+name+".kubeconfig")
}

// Install applies the released manifest, and waits until the API server serves the CRD.
func (c *Cluster) Install(ctx context.Context) error {
	if _, err := c.KubectlRun(ctx, "apply", "-f", filepath.Join(Root(), "dist", "install.yaml")); err != nil {
		return err
	}
	return c.Established(ctx, CRD)
}

// Established waits until the API server serves the CRDs. It polls, because kubectl wait fails for a CRD without
// conditions.
func (c *Cluster) Established(ctx context.Context, crds ...string) error {
	return Poll(ctx, time.Minute, func() error {
		_, err := c.KubectlRun(ctx, append([]string{"wait", "--for=condition=Established", "--timeout=60s"}, crds...)...)
		return err
	})
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	config.QPS, config.Burst = -1, -1 // no client-side rate limit
	return config, nil
}

// KubectlRun runs kubectl as the administrator and returns its output, standard error included.
func (c *Cluster) KubectlRun(ctx context.Context, args ...string) (string, error) {
	return c.KubectlInput(ctx, "", args...)
}

// KubectlInput is KubectlRun with standard input.
func (c *Cluster) KubectlInput(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.Kubectl, append([]string{"--kubeconfig", c.Kubeconfig}, args...)...)
	if OldKubernetes() && strings.HasPrefix(stdin, "{") && !slices.Contains(args, "--raw") { // old kubectl takes such YAML for JSON
		stdin = "---\n" + stdin
	}
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(cmd.Environ(), "GOGC=800") // it ends before garbage collection pays off
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// clusterCommand runs the project's cluster command and returns its standard output. Its progress goes to the test's
// standard error.
func clusterCommand(args ...string) ([]byte, error) {
	command := os.Getenv("LLSD_CLUSTER")
	if command == "" {
		return nil, errors.New(`LLSD_CLUSTER does not name the cluster command: run these tests by "make test-integration" or "make test-e2e"`)
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	var stdout bytes.Buffer
	cmd := exec.CommandContext(ctx, command, args...)
	cmd.Stdout, cmd.Stderr = &stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %w", filepath.Base(command), strings.Join(args, " "), err)
	}
	return stdout.Bytes(), nil
}

// Root returns the folder of the checkout. With -trimpath, test binaries do not know where they were compiled.
func Root() string { return root }

// root is set before a test can change the working directory.
var root = checkout()

// checkout returns the nearest folder above the working directory that has the operator's module, or else the working
// directory.
func checkout() string {
	start, err := os.Getwd()
	if err != nil {
		panic(err) // no test can find its files
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		module, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil && bytes.HasPrefix(module, []byte("module github.com/llamastack/llama-stack-k8s-operator\n")) {
			return folder
		}
		if folder == filepath.Dir(folder) {
			return start
		}
	}
}
