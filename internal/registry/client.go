// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
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
)

// Options say how registries are reached.
type Options struct {
	// CACertificates are those of registries; nil stands for the system's.
	CACertificates *x509.CertPool
	// PlainHTTP are the registries, as host or host:port, that are asked without TLS.
	PlainHTTP []string
	// Allowed are the registries, as host or host:port, that may be asked; empty allows all.
	Allowed []string
	// Local are the registries that may have a loopback or link-local address, and that may lead to hosts with private
	// addresses. Those of PlainHTTP may, too.
	Local []string
	// Trusted reports whether a registry, which others run than those who name it, may lead to hosts with private
	// addresses; nil trusts none.
	Trusted func(registry string) bool
	// Platform is the platform whose image counts where a reference names several; the zero value stands for that of this
	// program on Linux.
	Platform v1.Platform
	// UserAgent is what the client calls itself.
	UserAgent string
	// Locations returns the references by which an image is looked for, in this order; nil means by its own alone.
	Locations func(reference string) []string
	// Own are the credentials for a registry for which the caller of a question has none; nil stands for none at all.
	Own authn.Keychain
	// Asked is called for each question with its error; nil is not called.
	Asked func(question string, err error)
	// Limits are shared with other clients; nil stands for limits of the client's own.
	Limits *Limits
}

// Limits bound what clients that share them do at once.
type Limits struct {
	// decoding has a place for each question that decodes, unpacking for each layer that is unpacked from zstd.
	decoding, unpacking chan struct{}
}

// NewLimits makes limits.
func NewLimits() *Limits {
	return &Limits{decoding: make(chan struct{}, maxDecoding), unpacking: make(chan struct{}, maxUnpackingZstd)}
}

// Client asks registries. It may be used by several goroutines at once.
type Client struct {
	*Limits
	options Options
	// anywhere connects to all addresses, outside not to those of this machine, and public not to private ones either.
	anywhere, outside, public *http.Transport
	// searchTime is how long a search takes at most.
	searchTime time.Duration
}

// New makes a client.
func New(options Options) *Client {
	if options.Platform.OS == "" {
		options.Platform = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}
	}
	if options.Limits == nil {
		options.Limits = NewLimits()
	}
	return &Client{
		Limits: options.Limits, options: options, searchTime: searchTime, anywhere: newTransport(options.CACertificates, nil),
		outside: newTransport(options.CACertificates, refuseMachine),
		public:  newTransport(options.CACertificates, refuseInside),
	}
}

// Close closes the connections of questions that have ended.
func (c *Client) Close() {
	for _, t := range []*http.Transport{c.anywhere, c.outside, c.public} {
		t.CloseIdleConnections()
	}
}

// Image is what a registry reports about an image.
type Image struct {
	// Digest is the digest of what the reference names: of an index, where it names several platforms. This is what a node
	// pulls.
	Digest string
	// Labels are the labels of the image for the platform; nil where it has none.
	Labels map[string]string
	// Layers are the digests and sizes in bytes of the compressed layers, the lowest first.
	Layers []Blob
}

// Blob is one part of an image.
type Blob struct {
	// Digest is the digest, with its algorithm: "sha256:…".
	Digest string
	// Size is the size in bytes, as the manifest says.
	Size int64
}

// Digest returns the digest that a tag stands for now, by one request without a body. A reference with a digest is
// answered without any.
func (c *Client) Digest(ctx context.Context, reference string, keys authn.Keychain) (string, error) {
	return locate(ctx, c, QuestionDigest, reference, func(ref name.Reference, trip *roundTripper) (string, error) {
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

// Image reads the labels of an image: one manifest and one configuration; two manifests where the reference names an
// index.
func (c *Client) Image(ctx context.Context, reference string, keys authn.Keychain) (*Image, error) {
	return locate(ctx, c, QuestionImage, reference, func(ref name.Reference, trip *roundTripper) (*Image, error) {
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
		// The library would choose, too, and would decode what an index holds of a manifest itself without a measure.
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
	if err := scan(manifest.Config.Data); err != nil { // a manifest may hold the configuration itself
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

// artifact are the types of what registries hold.
var artifact = regexp.MustCompile(`^application/vnd\.(oci|docker|cncf)\.[a-z0-9.+-]{1,80}$`)

// notAnImage says of which type something is, unless a server wrote it that is not a registry.
func notAnImage(mediaType string) error {
	if !artifact.MatchString(mediaType) {
		return errors.New("it is not an image")
	}
	return fmt.Errorf("it is not an image but of type %q", mediaType)
}

// choose returns the digest of the image for the platform, of those in an index, and names the platforms that there are
// where it is not among them.
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
			Architecture: "amd64"}) // which one without a platform is for
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

// target reads a reference, applies the list of registries, and makes the way there.
func (c *Client) target(reference string) (name.Reference, *roundTripper, error) {
	ref, err := name.ParseReference(reference)
	if err != nil {
		return nil, nil, &Error{Kind: InvalidReference, Reference: reference, Err: err}
	}
	registry := ref.Context().RegistryStr()
	plain := slices.Contains(c.options.PlainHTTP, registry)
	if plain {
		// The library asks by plain HTTP only for names that are parsed with this option.
		if ref, err = name.ParseReference(reference, name.Insecure); err != nil {
			return nil, nil, &Error{Kind: InvalidReference, Reference: reference, Err: err}
		}
	}
	if len(c.options.Allowed) > 0 && !slices.Contains(c.options.Allowed, canonical(registry)) {
		return nil, nil, &Error{Kind: Refused, Reference: ref.Name(),
			Err: fmt.Errorf("registry %s is not among those that the operator's settings allow: %s", canonical(registry),
				strings.Join(c.options.Allowed, ", "))}
	}
	trip := &roundTripper{registry: registry, plainHTTP: plain, own: c.outside, foreign: c.public, trusted: c.outside,
		decoding: c.decoding}
	if c.named(registry) {
		trip.own = c.anywhere
	}
	all := c.named(registry) || c.options.Trusted != nil && c.options.Trusted(registry)
	trip.private = func(host string) bool { return all || c.named(host) }
	return ref, trip, nil
}

// named reports whether the settings name a registry, or another host.
func (c *Client) named(host string) bool {
	return slices.Contains(c.options.PlainHTTP, host) || slices.Contains(c.options.Local, host)
}

// canonical is a registry as people write it: docker.io, not index.docker.io.
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
	if c.options.Own != nil {
		keys = authn.NewMultiKeychain(keys, c.options.Own)
	}
	return []remote.Option{
		remote.WithContext(ctx),
		remote.WithTransport(trip),
		remote.WithAuthFromKeychain(keys),
		remote.WithPlatform(c.options.Platform),
		remote.WithUserAgent(c.options.UserAgent),
		// The caller has a pace of its own.
		remote.WithRetryBackoff(remote.Backoff{Duration: time.Millisecond, Factor: 1, Steps: 1}),
		remote.WithRetryStatusCodes(),
		remote.WithRetryPredicate(func(error) bool { return false }),
	}
}

// anonymous has no credentials for anybody. The library's default would read files of the user that runs the program.
type anonymous struct{}

// Resolve returns no credentials.
func (anonymous) Resolve(authn.Resource) (authn.Authenticator, error) { return authn.Anonymous, nil }
