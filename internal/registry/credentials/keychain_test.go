// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// resolve returns "user:password" of the credentials for an image.
func resolve(t *testing.T, ctx context.Context, k *Keychain, image string) string { //nolint:revive // the test comes first
	t.Helper()
	ref, err := name.ParseReference(image)
	if err != nil {
		t.Fatal(err)
	}
	found, err := k.ResolveContext(ctx, ref.Context())
	if err != nil {
		t.Fatal(err)
	}
	config, err := authn.Authorization(ctx, found)
	if err != nil {
		t.Fatal(err)
	}
	return config.Username + ":" + config.Password
}

// Proves: FR-027c.
func TestHostsBelongToClouds(t *testing.T) {
	for host, want := range map[string]string{
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com": "amazon", "123456789012.dkr.ecr-fips.us-gov-west-1.amazonaws.com": "amazon",
		"123456789012.dkr-ecr.eu-west-1.on.aws": "amazon", "123456789012.dkr.ecr.cn-north-1.amazonaws.com.cn": "amazon",
		"gcr.io": "google", "eu.gcr.io": "google", "europe-west1-docker.pkg.dev": "google", "mine.azurecr.io": "azure", "mine.azurecr.us": "azure",
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com.example.com": "", "x.123456789012.dkr.ecr.eu-west-1.amazonaws.com": "", "public.ecr.aws": "",
		"mine.azurecr.io.example.com": "", "mine.azurecr.io:8443": "", "evil-gcr.io": "", "a.pkg.dev:5000": "", "docker.io": "", "quay.io": "", "localhost:5000": "",
	} {
		got := ""
		for cloud, hosts := range map[string]*regexp.Regexp{"amazon": amazonHosts, "google": googleHosts, "azure": azureHosts} {
			if hosts.MatchString(host) {
				got += cloud
			}
		}
		if got != want {
			t.Errorf("%s belongs to %q, want %q", host, got, want)
		}
	}
}

// Proves: FR-027c, NFR-006 (a failed lookup is cached as well, and a lookup that hangs ends with its context).
func TestCloudCredentialsAreRequestedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for want, answer := range map[string]error{"u:p": nil, ":": errors.New("no cloud"), "hangs:": context.DeadlineExceeded} {
			asked := 0
			k := New()
			k.clouds = []cloud{{regexp.MustCompile(`^cloud\.example\.com$`), func(ctx context.Context, _ string) (authn.AuthConfig, error) {
				asked++
				if want == "hangs:" {
					<-ctx.Done()
				}
				return authn.AuthConfig{Username: "u", Password: "p"}, answer
			}}}
			if got := resolve(t, t.Context(), k, "elsewhere.example.com/a"); got != ":" || asked != 0 {
				t.Errorf("another registry: %q after %d questions", got, asked)
			}
			for _, image := range []string{"cloud.example.com/a", "cloud.example.com/b"} {
				if got := resolve(t, t.Context(), k, image); got != strings.TrimPrefix(want, "hangs") || asked != 1 {
					t.Errorf("%s: %q after %d questions, want %q", image, got, asked, want)
				}
			}
		}
	})
}

// Proves: FR-027c, NFR-006.
func TestAzureStopsRetryingSoon(t *testing.T) {
	asked := 0
	node := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer node.Close()
	for variable, value := range map[string]string{
		// The library caches the tokens of an identity for the process, so no other test uses this one.
		"IDENTITY_ENDPOINT": node.URL + "/msi", "IDENTITY_HEADER": "h", "AZURE_CLIENT_ID": "without-an-answer", "AZURE_FEDERATED_TOKEN_FILE": "",
	} {
		t.Setenv(variable, value)
	}
	if _, err := (azure{newClient()}).token(t.Context(), "mine.azurecr.io"); err == nil || asked != 2 {
		t.Errorf("%v after %d requests", err, asked)
	}
	longest := time.Duration(azureRetry.MaxRetries+1)*azureRetry.TryTimeout + azureRetry.RetryDelay
	if azureRetry.TryTimeout == 0 || longest > requestTimeout/2 {
		t.Errorf("the node may take %v", longest)
	}
}

// Proves: FR-027c (requests and responses of each cloud).
func TestCloudCredentialsAreRequested(t *testing.T) {
	var forms []string
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Metadata-Flavor", "Google")
		switch {
		case r.Header.Get("X-Amz-Target") != "":
			_, _ = fmt.Fprintf(w, `{"authorizationData": [{"authorizationToken": %q, "expiresAt": %d}]}`,
				base64.StdEncoding.EncodeToString([]byte("AWS:of-"+r.Header.Get("X-Amz-Target"))), time.Now().Add(12*time.Hour).Unix())
		case strings.HasPrefix(r.URL.Path, "/computeMetadata/"):
			_, _ = fmt.Fprint(w, `{"access_token": "of-google", "expires_in": 3600, "token_type": "Bearer"}`)
		case r.URL.Path == "/msi":
			_, _ = fmt.Fprintf(w, `{"access_token": %q, "expires_on": "%d", "resource": "x", "token_type": "Bearer"}`, "of-"+r.URL.Query().Get("resource"), time.Now().Add(time.Hour).Unix())
		default:
			http.NotFound(w, r)
		}
	}))
	defer site.Close()
	registry := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		forms = append(forms, r.Host+r.URL.Path+" "+r.Form.Encode())
		if strings.HasPrefix(r.Host, "elsewhere.") {
			http.Redirect(w, r, "https://evil.example.com/", http.StatusTemporaryRedirect)
			return
		}
		_, _ = fmt.Fprint(w, `{"refresh_token": "of-the-registry"}`)
	}))
	defer registry.Close()
	for variable, value := range map[string]string{
		"HOME": t.TempDir(), "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_ENDPOINT_URL_ECR": site.URL, "AWS_EC2_METADATA_DISABLED": "true",
		"GCE_METADATA_HOST": strings.TrimPrefix(site.URL, "http://"), "GOOGLE_APPLICATION_CREDENTIALS": "",
		"IDENTITY_ENDPOINT": site.URL + "/msi", "IDENTITY_HEADER": "h", "AZURE_CLIENT_ID": "", "AZURE_FEDERATED_TOKEN_FILE": "",
	} {
		t.Setenv(variable, value)
	}
	k := New()
	client := newClient()
	transport := registry.Client().Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, registry.Listener.Addr().String())
	}
	transport.TLSClientConfig.ServerName = "example.com" // name in the test certificate
	client.Transport = transport
	k.clouds[2].request = azure{client}.token
	for image, want := range map[string]string{
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com/a": "AWS:of-AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken",
		"europe-west1-docker.pkg.dev/p/a":                "oauth2accesstoken:of-google",
		"mine.azurecr.io/a":                              azureUser + ":of-the-registry",
		"elsewhere.azurecr.io/a":                         ":", // redirects the client
	} {
		if got := resolve(t, t.Context(), k, image); got != want {
			t.Errorf("%s: %q, want %q", image, got, want)
		}
	}
	all := strings.Join(forms, "\n")
	const form = "mine.azurecr.io/oauth2/exchange access_token=of-https%3A%2F%2Fcontainerregistry.azure.net&grant_type=access_token&service=mine.azurecr.io"
	if len(forms) != 2 || !strings.Contains(all, form) {
		t.Errorf("the registries were asked:\n%s", all)
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files were written: %v, %v", left, err)
	}
}
