// SPDX-License-Identifier: Apache-2.0

package registry

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

// User and Password are the credentials for repositories below "private", so that tests can use a registry with
// authentication.
const (
	User     = "cluster"
	Password = "cluster"
)

// Command is the command line word that runs the registry.
const Command = "internal-registry"

// Serve serves an image registry over plain HTTP until ctx ends. Its arguments are the address and the directory for
// the images.
func Serve(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("%s ADDRESS DIRECTORY: got %d arguments", Command, len(args))
	}
	if err := os.MkdirAll(args[1], 0o700); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler: requireCredentials(registry.New(
			registry.WithBlobHandler(registry.NewDiskBlobHandler(args[1])),
			registry.Logger(log.New(os.Stderr, "", log.LstdFlags)),
		)),
		ReadHeaderTimeout: 10 * time.Second,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// requireCredentials requires credentials for repositories below "private".
func requireCredentials(images http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if strings.HasPrefix(r.URL.Path, "/v2/private/") && (user != User || password != Password) {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(w, r)
	})
}

// Push uploads an image archive, a docker-archive file or an OCI layout directory, to the registry at address as
// repository (with an optional tag), and returns the reference by digest for pods.
func Push(ctx context.Context, address, archive, repository string) (string, error) {
	image, err := imagefile.Read(archive)
	if err != nil {
		return "", fmt.Errorf("image archive %s: %w", archive, err)
	}
	ref, err := name.ParseReference(path.Join(address, strings.TrimPrefix(repository, address+"/")), name.Insecure)
	if err != nil {
		return "", err
	}
	direct := remote.WithTransport(&http.Transport{}) // no proxy reaches the cluster
	if err := remote.Write(ref, image, remote.WithContext(ctx), direct); err != nil {
		return "", fmt.Errorf("pushing to %s: %w", ref, err)
	}
	digest, err := image.Digest()
	if err != nil {
		return "", err
	}
	return ref.Context().Digest(digest.String()).String(), nil
}
