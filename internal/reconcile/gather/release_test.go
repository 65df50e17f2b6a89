// SPDX-License-Identifier: Apache-2.0

package gather_test

import (
	"archive/tar"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	crane "github.com/google/go-containerregistry/cmd/crane/cmd"
	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/imagelabels"
	"github.com/llamastack/llama-stack-k8s-operator/internal/registry/oci"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// metadata returns the METADATA of a release of the server's package.
func metadata(called, version string) string {
	return "Metadata-Version: 2.4\nName: " + called + "\nVersion: " + version + "\nRequires-Dist: httpx\n\nA server.\n"
}

// releases returns the package and the newest release of each release line.
func releases(t *testing.T) map[string][2]string {
	t.Helper()
	table, err := os.ReadFile("../../../tests/server/releases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][2]string{}
	for row := range strings.Lines(string(table)) {
		if columns := strings.Split(strings.TrimSpace(row), "\t"); !strings.HasPrefix(row, "#") && all[columns[0]][0] == "" {
			all[columns[0]] = [2]string{columns[1], columns[2]}
		}
	}
	if len(all) != len(catalog.Lines()) {
		t.Fatalf("%d release lines in the table, %d in the catalog", len(all), len(catalog.Lines()))
	}
	return all
}

// filesystem returns a layer with these files.
func filesystem(t *testing.T, files ...[2]string) v1.Layer {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, file := range files {
		if err := w.WriteHeader(&tar.Header{Name: file[0], Mode: 0o644, Size: int64(len(file[1])), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, file[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

// built pushes an image like a build of the server, without labels, and returns the digest of its configuration layer.
func built(t *testing.T, reference, base string, release [2]string) string {
	t.Helper()
	called := strings.ReplaceAll(release[0], "-", "_")
	site := "usr/local/lib/python3.12/site-packages/"
	server := filesystem(t, [2]string{site + called + "-" + release[1] + ".dist-info/METADATA", metadata(release[0], release[1])})
	config := filesystem(t, [2]string{"app/config.yaml", base})
	image, err := mutate.AppendLayers(empty.Image, filesystem(t, [2]string{"etc/os-release", "ID=debian"}), server,
		filesystem(t, [2]string{site + called + "_client-9.9.9.dist-info/METADATA", metadata(release[0]+"-client", "9.9.9")}), config)
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Push(ref, image); err != nil {
		t.Fatal(err)
	}
	digest, err := config.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// mutated runs "crane mutate" as in docs/images.md and returns the resulting reference by digest.
func mutated(t *testing.T, from, to string, labels ...string) string {
	t.Helper()
	args := []string{"mutate", from, "-t", to}
	for _, label := range labels {
		args = append(args, "--label", label)
	}
	var out bytes.Buffer
	command := crane.New("crane", "", nil)
	command.SetArgs(args)
	command.SetOut(&out)
	if err := command.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(to)
	if err != nil {
		t.Fatal(err)
	}
	made, err := remote.Head(ref)
	if err != nil {
		t.Fatal(err)
	}
	return ref.Context().Name() + "@" + made.Digest.String()
}

// served returns a custom resource without Secrets that needs a configuration for an image.
func served(image string) *v1alpha2.LlamaStackDistribution {
	cr := resourceWithImage(image)
	cr.Spec.Providers.Inference = &apiextensionsv1.JSON{Raw: []byte(`{"provider":"vllm","endpoint":"http://vllm:8000"}`)}
	return cr
}

// answered gathers until no registry request is pending.
func answered(t *testing.T, g *gather.Gatherer, cr *v1alpha2.LlamaStackDistribution) (*gather.Gathered, problem.List) {
	t.Helper()
	for late := time.After(time.Minute); ; {
		got, problems := g.Gather(t.Context(), cr)
		if got.LabelsPending.IsZero() {
			return got, problems
		}
		if len(problems) > 0 && problems.Errors().Reason() != problem.ReadingImageLabels {
			t.Errorf("while the registry is asked: %s", problems.Message())
		}
		select {
		case <-time.After(time.Millisecond):
		case <-late:
			t.Fatalf("no answer: %s", problems.Message())
		}
	}
}

// Proves: LBL-RECIPE, R92, FR-020, FR-027a, FR-027e (images of any release line are recognized by digest and by a tag
// without a release).
func TestImagesOfTheRecipeAreRecognized(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	site := httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(site.Close)
	host := strings.TrimPrefix(site.URL, "http://")
	own := operatorSettings(map[string]string{settings.KeyRegistries: fmt.Sprintf("plainHTTP: [%q]", host)})
	for line, release := range releases(t) {
		base, _ := distributions.Base("starter", line)
		repository := host + "/team/server-" + line
		layer := built(t, repository+":build", string(base), release)
		for form, labels := range map[string][]string{
			"base64": {oci.LabelConfigBase64 + "=" + base64.StdEncoding.EncodeToString(base), "io.llamastack.config.version=2"},
			"layer":  {oci.LabelConfigLayer + "=" + layer, oci.LabelConfigPath + "=/app/config.yaml", "io.llamastack.config.version=2"},
		} {
			latest := repository + "/" + form + ":latest"
			for _, image := range []string{latest, mutated(t, repository+":build", latest, labels...)} {
				t.Run(line+" "+form+" "+strings.TrimPrefix(image, repository), func(t *testing.T) {
					c := newCluster(t, own)
					g := newGatherer(c, c)
					g.Labels = imagelabels.New(t.Context(), imagelabels.Options{Connect: imagelabels.Connect("", nil), Key: secret.New(make([]byte, 32))})
					got, problems := answered(t, g, served(image))
					made, built := build.Build(t.Context(), got.Inputs)
					if problems.HasErrors() || built.HasErrors() {
						t.Fatal(problems.Message(), built.Message())
					}
					d := made.Distribution
					if d.Line == nil || d.Line.Name != line || d.Release != release[1] || d.Source != v1alpha2.ConfigSourceOCILabel || made.Config == nil {
						t.Errorf("%+v", d)
					}
				})
			}
		}
	}
}

// Proves: R92 (packages are read only if no label or tag has the release, and not of a registered image).
func TestPackagesAreUsedAfterLabelsAndTag(t *testing.T) {
	base := base64.StdEncoding.EncodeToString([]byte("version: 2\napis: [inference]\nproviders: {inference: []}\n"))
	const digest = "registry.example.com/team/server@sha256:0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b"
	tooLarge := &registry.Error{Kind: registry.TooLarge, Err: errors.New("it takes too long")}
	for name, c := range map[string]struct {
		image, label, metadata string
		version                string
		bare                   bool // without a configuration in its labels
		search                 error
		settings               string
		want                   string // release line and its source, or the reason of the problem
		searched               int
	}{
		"package":                 {image: digest, metadata: metadata("ogx", "1.4.1"), want: "1.4 package ogx in the image", searched: 1},
		"newer than known":        {image: digest, metadata: metadata("ogx", "99.1.0"), want: catalog.Newest() + " package ogx in the image: release 99.1.0, which this operator does not know", searched: 1},
		"label before package":    {image: digest, label: "0.7.1", metadata: metadata("ogx", "1.4.1"), want: "0.7 label com.ogx.distribution.version of the image"},
		"version before label":    {image: digest, version: "1.3", label: "0.7.1", metadata: metadata("ogx", "1.4.1"), want: "1.3 spec.distribution.version"},
		"registration first":      {image: "mine", version: "1.1", label: "0.7.1", settings: "distributions: 'mine: {image: \"" + digest + "\", serverVersion: 1.1.0, config: \"version: 2\"}'", want: "1.1 serverVersion in llama-stack-operator-config/distributions[mine]"},
		"tag before package":      {image: "registry.example.com/team/server:1.3.0", metadata: metadata("ogx", "1.4.1"), want: "1.3 tag of the image"},
		"override":                {image: "starter", metadata: metadata("llama-stack", "0.6.1"), settings: "image-overrides: 'starter: " + digest + "'", want: "0.6 package llama_stack in the image", searched: 1},
		"override, no package":    {image: "starter", settings: "image-overrides: 'starter: " + digest + "'", want: string(problem.UnknownServerLine), searched: 1},
		"too large":               {image: digest, search: tooLarge, want: string(problem.UnknownServerLine), searched: 1},
		"unreachable":             {image: digest, search: &registry.Error{Kind: registry.Unreachable, Err: errors.New("503")}, want: string(problem.RegistryUnavailable), searched: 1},
		"no package":              {image: digest, want: string(problem.UnknownServerLine), searched: 1},
		"no release":              {image: digest, metadata: metadata("ogx", "0.0.0"), want: string(problem.UnknownServerLine), searched: 1},
		"no base configuration":   {image: digest, bare: true, metadata: metadata("ogx", "1.4.1"), want: string(problem.MissingConfigLabels)},
		"base of the operator":    {image: "ogxai/distribution-starter@" + strings.TrimPrefix(digest, "registry.example.com/team/server@"), bare: true, metadata: metadata("ogx", "1.4.1"), want: "1.4 package ogx in the image", searched: 1},
		"registered with release": {image: "mine", metadata: metadata("ogx", "1.4.1"), settings: "distributions: 'mine: {image: \"" + digest + "\", serverVersion: 1.1.0, config: \"version: 2\"}'", want: "1.1 serverVersion in llama-stack-operator-config/distributions[mine]"},
		"registered without one":  {image: "mine", metadata: metadata("ogx", "1.4.1"), settings: "distributions: 'mine: {image: \"" + digest + "\", config: \"version: 2\"}'", want: "1.4 package ogx in the image", searched: 1},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := newCluster(t)
			if key, value, found := strings.Cut(c.settings, ": "); found {
				cluster = newCluster(t, operatorSettings(map[string]string{key: strings.Trim(value, "'")}))
			}
			cr := served(c.image)
			if !strings.Contains(c.image, "/") {
				cr.Spec.Distribution = v1alpha2.DistributionSpec{Name: &c.image}
			}
			if c.version != "" {
				cr.Spec.Distribution.Version = &c.version
			}
			s := &fakeRegistry{labels: map[string]string{oci.LabelConfigBase64: base, oci.LabelDistributionVersion: c.label}, metadata: c.metadata, search: c.search}
			if c.bare {
				delete(s.labels, oci.LabelConfigBase64)
			}
			g := newGatherer(cluster, cluster)
			g.Labels = imagelabels.New(t.Context(), imagelabels.Options{Connect: s.Client, Key: secret.New(make([]byte, 32))})
			got, problems := answered(t, g, cr)
			made, built := build.Build(t.Context(), got.Inputs)
			says := string(append(problems, built...).Errors().Reason())
			if d := made.Distribution; says == "" && d.Line != nil {
				says = d.Line.Name + " " + d.LineSource
			}
			if !strings.HasPrefix(says, c.want) || s.searched != c.searched {
				t.Errorf("%q after %d searches, want %q after %d: %s", says, s.searched, c.want, c.searched, built.Message())
			}
		})
	}
}

// Proves: R92 (the error differs from that of a missing package, and its fix needs no administrator).
func TestServerPackagesThatCannotBeRead(t *testing.T) {
	s := &fakeRegistry{labels: map[string]string{oci.LabelConfigBase64: base64.StdEncoding.EncodeToString([]byte("version: 2\napis: [inference]\n"))}, search: &registry.Error{Kind: registry.Unreachable, Err: errors.New("the registry responds with 503")}}
	c := newCluster(t)
	g := newGatherer(c, c)
	g.Labels = imagelabels.New(t.Context(), imagelabels.Options{Connect: s.Client, Key: secret.New(make([]byte, 32))})
	_, problems := answered(t, g, served("registry.example.com/team/server:latest"))
	const want = "the Python packages of image registry.example.com/team/server:latest could not be read: the registry " +
		"responds with 503: set spec.distribution.version; the operator retries"
	if !strings.Contains(problems.Message(), want) {
		t.Errorf("%s", problems.Message())
	}
}

// Proves: R92 (the report counts if nothing else has the release and a configuration is needed).
func TestReleaseReportedByRunningServerIsUsed(t *testing.T) {
	base := base64.StdEncoding.EncodeToString([]byte("version: 2\napis: [inference]\nproviders: {inference: []}\n"))
	const image = "registry.example.com/team/server:latest"
	for name, c := range map[string]struct {
		ran, source, metadata, want string
	}{
		"the same image":     {ran: image, want: "1.4 version that the running server reports"},
		"another image":      {ran: image + "-2", want: string(problem.UnknownServerLine)},
		"from elsewhere":     {ran: image, source: "tag of the image", want: string(problem.UnknownServerLine)},
		"the package counts": {ran: image, metadata: metadata("ogx", "1.3.1"), want: "1.3 package ogx in the image"},
	} {
		t.Run(name, func(t *testing.T) {
			line, source := settings.ReportedLine("1.4.1")
			if c.source != "" {
				source = c.source
			}
			cr := served(image)
			cr.Status.Version = &v1alpha2.VersionInfo{LlamaStackServerVersion: "1.4.1"}
			cr.Status.ResolvedDistribution = &v1alpha2.ResolvedDistributionStatus{Image: c.ran, ServerLine: line, ServerLineSource: source}
			cluster := newCluster(t)
			g := newGatherer(cluster, cluster)
			s := &fakeRegistry{labels: map[string]string{oci.LabelConfigBase64: base}, metadata: c.metadata}
			g.Labels = imagelabels.New(t.Context(), imagelabels.Options{Connect: s.Client, Key: secret.New(make([]byte, 32))})
			got, problems := answered(t, g, cr)
			made, built := build.Build(t.Context(), got.Inputs)
			says := string(append(problems, built...).Errors().Reason())
			if d := made.Distribution; says == "" && d.Line != nil {
				says = d.Line.Name + " " + d.LineSource
			}
			if says != c.want {
				t.Errorf("%q, want %q: %s", says, c.want, built.Message())
			}
			cr.Spec.Providers = nil
			got, _ = g.Gather(t.Context(), cr)
			if d := got.Inputs.Distribution; d.Line != nil {
				t.Errorf("%+v, although nothing is generated", d)
			}
		})
	}
}
