// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/imagefile"
)

// registryCommand is the command line word under which a cluster runs its registry.
const registryCommand = "internal-registry"

// serveRegistry serves an image registry without TLS. Its arguments are the
// address and the directory for the images; it returns when ctx ends.
func serveRegistry(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s ADDRESS DIRECTORY: got %d arguments", registryCommand, len(args))
	}
	if err := os.MkdirAll(args[1], 0o700); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: registry.New(
			registry.WithBlobHandler(registry.NewDiskBlobHandler(args[1])),
			registry.Logger(log.New(os.Stderr, "", log.LstdFlags)),
		),
		ReadHeaderTimeout: 10 * time.Second,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Push uploads an image archive, a docker-archive file or an OCI layout
// directory, to the registry of the cluster in dir as repository (with an
// optional tag), and returns the reference by digest that a pod may name.
func Push(ctx context.Context, dir, archive, repository string) (string, error) {
	s, err := running(dir)
	if err != nil {
		return "", err
	}
	if s.Result.Registry == "" {
		return "", fmt.Errorf("the cluster in %s has no registry: its tier is %s, and only the tier %s has one", dir, s.Result.Tier, Node)
	}
	image, err := imagefile.Read(archive)
	if err != nil {
		return "", fmt.Errorf("image archive %s: %w", archive, err)
	}
	ref, err := name.ParseReference(path.Join(s.Result.Registry, strings.TrimPrefix(repository, s.Result.Registry+"/")), name.Insecure)
	if err != nil {
		return "", err
	}
	direct := remote.WithTransport(&http.Transport{}) // no proxy knows the cluster
	if err := remote.Write(ref, image, remote.WithContext(ctx), direct); err != nil {
		return "", fmt.Errorf("pushing to %s: %w", ref, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	return ref.Context().Digest(digest.String()).String(), nil
}
