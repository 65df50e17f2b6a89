// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"io"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/manifest"
	"github.com/llamastack/llama-stack-k8s-operator/internal/cli/offline"
)

// ErrNothing is the error of a verb that has nothing to work on.
var ErrNothing = errors.New("no LlamaStackDistribution in what --filename names")

// Resources are the files that a verb reads.
type Resources struct {
	// Names are files and directories; "-" is standard input.
	Names []string
}

// AddTo adds the flag, which must be given.
func (r *Resources) AddTo(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&r.Names, "filename", "f", nil, `file or directory with the resources; "-" is standard input. Can be given several times`)
	_ = cmd.MarkFlagRequired("filename")
}

// Read returns the documents of all files, or all errors.
func (r *Resources) Read(stdin io.Reader) ([]*manifest.Document, error) {
	documents, errs := manifest.Read(r.Names, false, stdin)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return documents, nil
}

// Settings is the file of the operator's settings.
type Settings struct {
	// Name is the file; empty stands for an operator without settings.
	Name string
}

// AddTo adds the flag.
func (s *Settings) AddTo(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.Name, "settings", "", "the operator's ConfigMap, as a manifest or only its data")
}

// CheckStdin reports a command line by which more than one flag would read standard input.
func (s *Settings) CheckStdin(others ...string) error {
	return manifest.CheckStdin(append([]string{s.Name}, others...))
}

// Cluster returns a cluster whose operator has the settings.
func (s *Settings) Cluster(stdin io.Reader) (*offline.Cluster, error) {
	known, err := manifest.ReadSettings(s.Name, stdin)
	if err != nil {
		return nil, err
	}
	return offline.NewCluster(known)
}
