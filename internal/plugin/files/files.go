// SPDX-License-Identifier: Apache-2.0

package files

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// ErrNoResources means that the files contain no LlamaStackDistribution.
var ErrNoResources = errors.New("no LlamaStackDistribution in the files of --filename")

// Resources is the flag --filename.
type Resources struct {
	// Names are files and directories; "-" is standard input.
	Names []string
}

// AddTo adds the flag and marks it as required.
func (r *Resources) AddTo(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&r.Names, "filename", "f", nil,
		`file or directory with the resources; "-" is standard input. Can be given several times`)
	_ = cmd.MarkFlagRequired("filename")
}

// NoArguments rejects arguments, which result from an unquoted pattern after -f.
func NoArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: use a separate -f for each file or directory", args[0])
	}
	return nil
}

// Read returns the documents of all files, or all errors.
func (r *Resources) Read(stdin io.Reader) ([]*manifest.Document, error) {
	documents, errs := manifest.Read(r.Names, false, stdin)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return documents, nil
}

// Settings is the flag --settings.
type Settings struct {
	// Name is the file; empty means default settings.
	Name string
}

// AddTo adds the flag.
func (s *Settings) AddTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.Name, "settings", "", "the operator's ConfigMap, as a manifest or only its data")
}

// CheckStdin returns an error if more than one flag reads standard input.
func (s *Settings) CheckStdin(others ...string) error {
	return manifest.CheckStdin(append([]string{s.Name}, others...))
}

// ClusterSettings are the flags for settings from a file or a cluster.
type ClusterSettings struct {
	Settings
	flags             cluster.Flags
	connect           cluster.Connect
	fromCluster       bool
	operatorNamespace string
}

// AddTo adds the flags.
func (s *ClusterSettings) AddTo(cmd *cobra.Command, connect cluster.Connect) {
	s.Settings.AddTo(cmd)
	s.connect = connect
	s.flags.AddClusterTo(cmd)
	cmd.Flags().BoolVar(&s.fromCluster, "from-cluster", false, "read the operator's settings and the registered "+
		"distributions from the cluster")
	cmd.Flags().StringVar(&s.operatorNamespace, "operator-namespace", settings.DefaultNamespace, "namespace of the "+
		"operator, for --from-cluster")
	cmd.MarkFlagsMutuallyExclusive("settings", "from-cluster")
}

// IsSet reports whether one of the flags is set.
func (s *ClusterSettings) IsSet() bool { return s.fromCluster || s.Name != "" }

// Source returns the source of the settings for messages.
func (s *ClusterSettings) Source() string {
	if s.fromCluster {
		return "namespace " + s.operatorNamespace
	}
	return s.Name
}

// unreadNote is the note if the user may not read all settings.
const unreadNote = "note: no permission to read all of the operator's settings in namespace %s: built-in " +
	"distributions are assumed\n"

// Cluster returns an offline cluster with the settings. It writes a note to errs if some may not be read.
func (s *ClusterSettings) Cluster(ctx context.Context, stdin io.Reader, errs io.Writer) (*offline.Cluster, error) {
	if !s.fromCluster {
		return s.Settings.Cluster(stdin)
	}
	connection, err := s.connect(&s.flags)
	if err != nil {
		return nil, err
	}
	known, complete, err := connection.Settings(ctx, s.operatorNamespace)
	if err != nil {
		return nil, err
	}
	if !complete {
		_, _ = fmt.Fprintf(errs, unreadNote, s.operatorNamespace)
	}
	return offline.NewCluster(known), nil
}

// AssumedNote is the note if the operator's settings are not given.
const AssumedNote = "note: built-in base configurations are assumed; --from-cluster or --settings reads what your " +
	"operator has registered\n"

// PrintAssumedNote writes AssumedNote to errs if a result depends on an embedded base configuration and settings are
// not given.
func (s *ClusterSettings) PrintAssumedNote(resources []*offline.Resource, errs io.Writer) {
	if s.IsSet() {
		return
	}
	for _, r := range resources {
		if r.Desired != nil && r.Desired.Distribution != nil &&
			r.Desired.Distribution.Source == v1alpha2.ConfigSourceEmbedded {
			_, _ = io.WriteString(errs, AssumedNote)
			return
		}
	}
}

// Cluster returns an offline cluster with the settings.
func (s *Settings) Cluster(stdin io.Reader) (*offline.Cluster, error) {
	known, err := manifest.ReadSettings(s.Name, stdin)
	if err != nil {
		return nil, err
	}
	return offline.NewCluster(known), nil
}
