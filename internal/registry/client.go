// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/metrics"
)

// Options configure a Client.
type Options struct {
	// CACertificates verify registries; nil means the system pool.
	CACertificates *x509.CertPool
	// PlainHTTP are the registries (host or host:port) to access without TLS.
	PlainHTTP []string
	// Allowed are the registries (host or host:port) that may be accessed; empty allows all.
	Allowed []string
	// Local are the registries that may have loopback or link-local addresses and may redirect to private addresses, as
	// those of PlainHTTP may.
	Local []string
	// Trusted reports whether a registry may redirect to private addresses; nil trusts none.
	Trusted func(registry string) bool
	// Platform selects the image of an index; the zero value means linux with this program's architecture.
	Platform v1.Platform
	// Proxy returns the proxy of a request; nil means http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
	// UserAgent is the User-Agent header.
	UserAgent string
	// Locations returns the references to try for an image, in order; nil means only the reference itself.
	Locations func(reference string) []string
	// Fallback has fallback credentials for registries without caller credentials; nil means anonymous.
	Fallback authn.Keychain
	// OnRead is called after each operation with its error; nil is not called.
	OnRead func(question string, err error)
	// Limits may be shared between clients; nil means new limits.
	Limits *Limits
}

// Limits bound the concurrent work of the clients that share them.
type Limits struct {
	// decoding is a semaphore for decoding documents, unpacking one for zstd layers.
	decoding, unpacking chan struct{}
}

// NewLimits returns the default limits.
func NewLimits() *Limits {
	return &Limits{decoding: make(chan struct{}, maxDecoding), unpacking: make(chan struct{}, maxUnpackingZstd)}
}

// Client reads images from registries. It is safe for concurrent use.
type Client struct {
	*Limits
	options Options
	// unrestricted connects to any address, nonLocal refuses loopback and link-local ones, public also private ones.
	unrestricted, nonLocal, public *http.Transport
	searchTime                     time.Duration
}

// New returns a Client.
func New(options Options) *Client {
	if options.Platform.OS == "" {
		options.Platform = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}
	}
	if options.Proxy == nil {
		options.Proxy = http.ProxyFromEnvironment
	}
	if options.Limits == nil {
		options.Limits = NewLimits()
	}
	return &Client{
		Limits: options.Limits, options: options, searchTime: searchTime,
		unrestricted: newTransport(&options, nil),
		nonLocal:     newTransport(&options, refuseLocal),
		public:       newTransport(&options, refusePrivate),
	}
}

// Close closes idle connections.
func (c *Client) Close() {
	for _, t := range []*http.Transport{c.unrestricted, c.nonLocal, c.public} {
		t.CloseIdleConnections()
	}
}

// Image is the metadata of an image.
type Image struct {
	// Digest is the digest of the reference, which for a multi-platform image is that of the index.
	Digest string
	// Labels are the labels for the platform; nil if the image has none.
	Labels map[string]string
	// Layers are the compressed layers, lowest first.
	Layers []Blob
}

// Blob is a layer of an image.
type Blob struct {
	// Digest is the digest with its algorithm: "sha256:…".
	Digest string
	// Size is the size in the manifest, in bytes.
	Size int64
}

// Digest returns the current digest of a tag with one HEAD request. A reference with a digest needs no request.
func (c *Client) Digest(ctx context.Context, reference string, keys authn.Keychain) (string, error) {
	return locate(ctx, c, metrics.RegistryDigest, reference, func(ref name.Reference, trip *roundTripper) (string, error) {
		if digest, ok := ref.(name.Digest); ok {
			return digest.DigestStr(), nil
		}
		head, err := remote.Head(ref, c.remoteOptions(ctx, trip, keys)...)
		if err != nil {
			return "", err
		}
		return head.Digest.String(), nil
	})
}

// Image reads the labels and layers of an image: one manifest, or two for an index, and one configuration.
func (c *Client) Image(ctx context.Context, reference string, keys authn.Keychain) (*Image, error) {
	return locate(ctx, c, metrics.RegistryImage, reference, func(ref name.Reference, trip *roundTripper) (*Image, error) {
		return c.image(ctx, ref, trip, keys)
	})
}

func (c *Client) image(ctx context.Context, ref name.Reference, trip *roundTripper, keys authn.Keychain) (*Image,
	error) {
	puller, err := remote.NewPuller(c.remoteOptions(ctx, trip, keys)...)
	if err != nil {
		return nil, err
	}
	descriptor, err := puller.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	found := &Image{Digest: descriptor.Digest.String()}
	if descriptor.MediaType.IsIndex() {
		child, err := c.choose(descriptor, ref)
		if err != nil {
			return nil, err
		}
		// Do not let the library choose: it decodes manifests embedded in an index without a size limit.
		if descriptor, err = puller.Get(ctx, ref.Context().Digest(child.String())); err != nil {
			return nil, err
		}
	}
	if !descriptor.MediaType.IsImage() {
		return nil, &Error{Kind: NotAnImage, Reference: ref.Name(), Err: notAnImage(string(descriptor.MediaType))}
	}
	image, err := descriptor.Image()
	if err != nil {
		return nil, err
	}
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	if err := scan(manifest.Config.Data); err != nil { // manifests may embed the configuration
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	found.Labels = config.Config.Labels
	for i := range manifest.Layers {
		found.Layers = append(found.Layers, Blob{Digest: manifest.Layers[i].Digest.String(), Size: manifest.Layers[i].Size})
	}
	return found, nil
}

// artifact matches the media types of registry content.
var artifact = regexp.MustCompile(`^application/vnd\.(oci|docker|cncf)\.[a-z0-9.+-]{1,80}$`)

// notAnImage returns an error that quotes only media types matching artifact, because a server may send any text.
func notAnImage(mediaType string) error {
	if !artifact.MatchString(mediaType) {
		return errors.New("it is not an image")
	}
	return fmt.Errorf("it is not an image, but has media type %q", mediaType)
}

// choose returns the digest of the index entry for the platform. Its error lists the available platforms.
func (c *Client) choose(descriptor *remote.Descriptor, ref name.Reference) (v1.Hash, error) {
	index, err := descriptor.ImageIndex()
	if err != nil {
		return v1.Hash{}, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return v1.Hash{}, err
	}
	var platforms []string
	for i := range manifest.Manifests {
		p := cmp.Or(manifest.Manifests[i].Platform, &v1.Platform{OS: "linux",
			Architecture: "amd64"}) // the default platform
		if p.Satisfies(c.options.Platform) {
			return manifest.Manifests[i].Digest, nil
		}
		if p.OS != "unknown" {
			platforms = append(platforms, p.String())
		}
	}
	slices.Sort(platforms)
	return v1.Hash{}, &Error{Kind: NotAnImage, Reference: ref.Name(),
		Err: fmt.Errorf("it has no image for %s, only for: %s", c.options.Platform, limits.Names(slices.Compact(platforms)))}
}

// target parses a reference, checks that its registry is allowed, and returns a transport for it.
func (c *Client) target(reference string) (name.Reference, *roundTripper, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return nil, nil, &Error{Kind: InvalidReference, Reference: reference, Err: err}
	}
	registry := ref.Context().RegistryStr()
	plain := slices.Contains(c.options.PlainHTTP, registry)
	if plain {
		// The library uses plain HTTP only for references parsed with name.Insecure.
		if ref, err = name.ParseReference(reference, name.Insecure); err != nil {
			return nil, nil, &Error{Kind: InvalidReference, Reference: reference, Err: err}
		}
	}
	if len(c.options.Allowed) > 0 && !slices.Contains(c.options.Allowed, canonical(registry)) {
		return nil, nil, &Error{Kind: Refused, Reference: ref.Name(),
			Err: fmt.Errorf("registry %s is not allowed by the operator's settings; allowed registries: %s", canonical(registry),
				strings.Join(c.options.Allowed, ", "))}
	}
	trip := &roundTripper{registry: registry, plainHTTP: plain, own: c.nonLocal, foreign: c.public, trusted: c.nonLocal,
		decoding: c.decoding, proxy: c.options.Proxy}
	if c.isConfigured(registry) {
		trip.own = c.unrestricted
	}
	all := c.isConfigured(registry) || c.options.Trusted != nil && c.options.Trusted(registry)
	trip.private = func(host string) bool { return all || c.isConfigured(host) }
	return ref, trip, nil
}

// isConfigured reports whether PlainHTTP or Local contain the host.
func (c *Client) isConfigured(host string) bool {
	return slices.Contains(c.options.PlainHTTP, host) || slices.Contains(c.options.Local, host)
}

// canonical returns docker.io for index.docker.io, and other registries unchanged.
func canonical(registry string) string {
	if registry == name.DefaultRegistry {
		return "docker.io"
	}
	return registry
}

func (c *Client) remoteOptions(ctx context.Context, trip *roundTripper, keys authn.Keychain) []remote.Option {
	if keys == nil {
		keys = anonymous{}
	}
	if c.options.Fallback != nil {
		keys = authn.NewMultiKeychain(keys, c.options.Fallback)
	}
	return []remote.Option{
		remote.WithContext(ctx),
		remote.WithTransport(trip),
		remote.WithAuthFromKeychain(keys),
		remote.WithPlatform(c.options.Platform),
		remote.WithUserAgent(c.options.UserAgent),
		// The caller retries.
		remote.WithRetryBackoff(remote.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 1}),
		remote.WithRetryStatusCodes(),
		remote.WithRetryPredicate(func(error) bool { return false }),
	}
}

// anonymous is a keychain without credentials; the library's default keychain reads files of the user.
type anonymous struct{}

func (anonymous) Resolve(authn.Resource) (authn.Authenticator, error) { return authn.Anonymous, nil }
