// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/apiclient"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/kubeconfig"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/node"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/state"
)

// ServiceAccountKubeconfig returns a kubeconfig for the ServiceAccount NAMESPACE/NAME, with a token that is valid for
// life.
func ServiceAccountKubeconfig(ctx context.Context, dir, account string, lifetime time.Duration) ([]byte, error) {
	namespace, name, found := strings.Cut(account, "/")
	if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
		return nil, fmt.Errorf("service account %q: write it as NAMESPACE/NAME", account)
	}
	s, err := running(dir)
	if err != nil {
		return nil, err
	}
	server, ca, pair, err := apiclient.ReadKubeconfig(s.Result.Kubeconfig)
	if err != nil {
		return nil, err
	}
	api, err := apiclient.NewTLS(server, ca, pair)
	if err != nil {
		return nil, err
	}
	request := map[string]any{
		"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
		"spec": map[string]any{"expirationSeconds": int64(lifetime.Seconds())},
	}
	var response struct {
		Status struct {
			Token string `json:"token"`
		} `json:"status"`
	}
	path := fmt.Sprintf("/api/v1/namespaces/%s/serviceaccounts/%s/token", url.PathEscape(namespace), url.PathEscape(name))
	if err := api.Post(ctx, path, request, &response); err != nil {
		return nil, fmt.Errorf("token of service account %s: %w", account, err)
	}
	return kubeconfig.Render(server, ca, kubeconfig.Credentials{Token: response.Status.Token}, namespace)
}

// Load imports image archives, as docker save and OCI tools write them, into the node of the cluster in dir.
func Load(ctx context.Context, dir string, archives []string, progress io.Writer) error {
	s, err := running(dir)
	if err != nil {
		return err
	}
	if s.Result.Tier != state.Node {
		return fmt.Errorf("the cluster in %s runs no images: its tier is %s, and only the tier %s does", dir, s.Result.Tier, state.Node)
	}
	for _, archive := range archives {
		if err := node.Load(ctx, s.Processes[0].PID, archive, progress); err != nil {
			return fmt.Errorf("loading %s: %w", archive, err)
		}
	}
	return nil
}

// Push uploads an image archive, a docker-archive file or an OCI layout directory, to the registry of the cluster in
// dir as repository (with an optional tag), and returns the reference by digest for pods.
func Push(ctx context.Context, dir, archive, repository string) (string, error) {
	s, err := running(dir)
	if err != nil {
		return "", err
	}
	if s.Result.Registry == "" {
		return "", fmt.Errorf("the cluster in %s has no registry: its tier is %s, and only the tier %s has one", dir, s.Result.Tier, state.Node)
	}
	return registry.Push(ctx, s.Result.Registry, archive, repository)
}

// running returns the state of the cluster in dir, or an error with a hint if no cluster runs there.
func running(dir string) (*state.State, error) {
	s, err := state.Load(dir)
	if err != nil {
		return nil, err
	}
	if s == nil || !s.Ready {
		return nil, fmt.Errorf("no cluster runs in %s: start one with cluster up --dir %s", dir, dir)
	}
	reports, err := s.Reports()
	if err != nil {
		return nil, err
	}
	for _, p := range reports {
		if !p.Running {
			return nil, fmt.Errorf("%s of the cluster in %s no longer runs (log %s): restart it with cluster up --dir %s", p.Name, dir, p.Log, dir)
		}
	}
	return s, nil
}
