// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
)

// Flags are kubectl's flags for cluster and namespace.
type Flags struct {
	kubeconfig string
	overrides  clientcmd.ConfigOverrides
}

// AddTo adds the flags to a command.
func (f *Flags) AddTo(cmd *cobra.Command) {
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.Namespace.ShortName = "n"
	f.add(cmd, names)
	_ = cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions)
}

// AddWithoutTokenTo adds the flags without --token, for a verb with a flag of that name.
func (f *Flags) AddWithoutTokenTo(cmd *cobra.Command) {
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.Namespace.ShortName = "n"
	names.AuthOverrideFlags.Token = clientcmd.FlagInfo{}
	f.add(cmd, names)
	_ = cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions)
}

// AddClusterTo adds the flags without --namespace.
func (f *Flags) AddClusterTo(cmd *cobra.Command) {
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{}
	f.add(cmd, names)
}

func (f *Flags) add(cmd *cobra.Command, names clientcmd.ConfigOverrideFlags) {
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, clientcmd.RecommendedConfigPathFlag, "", "kubeconfig file; default as for kubectl")
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	clientcmd.BindOverrideFlags(&f.overrides, flags, names)
}

// Connection is a cluster with a namespace.
type Connection struct {
	// Client accesses Kubernetes types and v1alpha2.
	Client client.WithWatch
	// Config is for other requests.
	Config *rest.Config
	// Logs opens the log of a pod; the caller closes it.
	Logs func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error)
	// Forward forwards to a port of a pod.
	Forward Forward
	// Namespace is that of the flag, else of the kubeconfig's context, else "default".
	Namespace string
}

// Connect returns the connection for the flags.
type Connect func(*Flags) (*Connection, error)

// Run returns the RunE of a verb that needs a cluster. Its errors are InputErrors.
func Run(
	f *Flags, connect Connect, verb func(ctx context.Context, c *Connection, args []string) error,
) func(cmd *cobra.Command, args []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := connect(f)
		if err != nil {
			return cli.Fail(err)
		}
		return cli.Fail(verb(cmd.Context(), c, args))
	}
}

var errNoKubeconfig = errors.New("there is no kubeconfig: set KUBECONFIG or --kubeconfig to the file with your cluster")

// Dial is the default Connect.
func Dial(f *Flags) (*Connection, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &f.overrides)
	config, err := loaded.ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errNoKubeconfig
	}
	if err != nil {
		return nil, fmt.Errorf("cannot load kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 50, 100 // a status screen needs about ten requests
	config.Wrap(RejectRedirects)
	namespace, _, err := loaded.Namespace()
	if err != nil {
		return nil, fmt.Errorf("cannot load kubeconfig: %w", err)
	}
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	core, err := corev1client.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the cluster: %w", err)
	}
	logs := func(ctx context.Context, namespace, pod string, options *corev1.PodLogOptions) (io.ReadCloser, error) {
		return core.Pods(namespace).GetLogs(pod, options).Stream(ctx)
	}
	return &Connection{Client: c, Config: config, Logs: logs, Forward: newForward(config, core), Namespace: namespace}, nil
}

// NewScheme returns the scheme of a Connection's client.
func NewScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha2.AddToScheme(scheme), gatewayv1.Install(scheme))
}

// Get reads a custom resource.
func (c *Connection) Get(ctx context.Context, name string) (*v1alpha2.LlamaStackDistribution, error) {
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, cr); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("there is no LlamaStackDistribution %q in namespace %s", name, c.Namespace)
		}
		return nil, fmt.Errorf("read LlamaStackDistribution %s/%s: %w", c.Namespace, name, err)
	}
	return cr, nil
}

// Names returns a completion function for the name of a custom resource.
func Names(f *Flags, connect Connect) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		connection, err := connect(f)
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list := &v1alpha2.LlamaStackDistributionList{}
		if err := connection.Client.List(cmd.Context(), list, client.InNamespace(connection.Namespace)); err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []cobra.Completion
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
