// SPDX-License-Identifier: Apache-2.0

package report

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const long = `Collect an archive for a bug report: the custom resource, its objects, configuration, conditions,
Events, pods and their logs, and the operator's version, settings and log.

The archive contains no Secrets. If you have permission, the command reads the Secrets that the custom resource, its
objects and pods refer to, only to redact their values wherever they appear. It also redacts text that looks like a
secret. Review the files before you send them. report.txt names what could not be read. With --output, the command
prints the names of the files.`

type options struct {
	cluster.Flags
	output            cli.Output
	file              string
	operatorNamespace string
	now               func() time.Time
}

// New returns the report command.
func New(streams cli.Streams, connect cluster.Connect) *cobra.Command {
	o := &options{now: time.Now}
	cmd := &cobra.Command{
		Use:               "report NAME",
		Short:             "Collect an archive for a bug report, without secrets",
		Long:              long,
		Example:           "  kubectl llamastack report my-stack",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: cluster.Names(&o.Flags, connect),
		RunE: cluster.Run(&o.Flags, connect, func(ctx context.Context, c *cluster.Connection, args []string) error {
			return o.run(ctx, c, args[0], streams)
		}),
	}
	o.AddTo(cmd)
	o.output.AddTo(cmd)
	cmd.Flags().StringVarP(&o.file, "filename", "f", "",
		`output file, which must not exist; "-" is standard output (default "NAME-report.tar.gz")`)
	cmd.Flags().StringVar(&o.operatorNamespace, "operator-namespace", settings.DefaultNamespace, "namespace of the "+
		"operator")
	return cmd
}

func (o *options) run(ctx context.Context, c *cluster.Connection, name string, streams cli.Streams) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	found, err := collect(ctx, c, name, o.operatorNamespace)
	if err != nil {
		return err
	}
	dir := name + "-report"
	if o.file == "-" {
		out, err := cli.Binary(streams.Out)
		if err != nil {
			return err
		}
		return pack(out, dir, found.files, o.now())
	}
	target := o.file
	if target == "" {
		target = dir + ".tar.gz"
	}
	out, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := pack(out, dir, found.files, o.now()); err != nil {
		return err
	}
	summary := result{Archive: target, Files: []string{}, NotRead: found.unread}
	for _, f := range found.files {
		summary.Files = append(summary.Files, f.name)
	}
	return o.output.Print(streams.Out, summary, func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s: %d files. Review them before you send them.\n", target, len(found.files))
		for _, text := range found.unread {
			_, _ = fmt.Fprintln(streams.Err, "not read: "+text)
		}
		return err
	})
}

type result struct {
	Archive string   `json:"archive"`
	Files   []string `json:"files"`
	// NotRead lists objects that could not be read, with errors.
	NotRead []string `json:"notRead,omitempty"`
}

func (o *options) check() error {
	if o.file == "-" && o.output.MachineReadable() {
		return errors.New("--output and -f - are mutually exclusive: both write to standard output")
	}
	return o.output.Check()
}

// pack writes the files as a gzipped tar archive.
func pack(w io.Writer, dir string, files []file, now time.Time) error {
	compressed := gzip.NewWriter(w)
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{Name: path.Join(dir, f.name), Mode: 0o644, Size: int64(len(f.text)), ModTime: now}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(f.text); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), compressed.Close())
}
