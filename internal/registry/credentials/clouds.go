// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/google/go-containerregistry/pkg/authn"
	googleauth "golang.org/x/oauth2/google"
)

// The registry hosts of each cloud. All belong to the cloud, so that credentials never leave it.
var (
	amazonHosts = regexp.MustCompile(
		`^\d{12}\.dkr[.-]ecr(-fips)?\.([a-z0-9-]+)\.(amazonaws\.com|amazonaws\.com\.cn|on\.aws|on\.amazonwebservices\.com\.cn)$`,
	)
	googleHosts = regexp.MustCompile(`^(gcr\.io|[a-z0-9-]+\.gcr\.io|[a-z0-9-]+\.pkg\.dev)$`)
	azureHosts  = regexp.MustCompile(`^[a-z0-9-]+\.azurecr\.(io|cn|us)$`)
)

// amazon returns an ECR token for the identity of the pod (IRSA, Pod Identity) or node.
func amazon(ctx context.Context, host string) (authn.AuthConfig, error) {
	parts := amazonHosts.FindStringSubmatch(host)
	options := []func(*config.LoadOptions) error{config.WithRegion(parts[2])}
	if parts[1] != "" {
		options = append(options, config.WithUseFIPSEndpoint(aws.FIPSEndpointStateEnabled))
	}
	identity, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return authn.AuthConfig{}, err
	}
	response, err := ecr.NewFromConfig(identity).GetAuthorizationToken(ctx, &ecr.GetAuthorizationTokenInput{})
	if err != nil {
		return authn.AuthConfig{}, err
	}
	if len(response.AuthorizationData) == 0 {
		return authn.AuthConfig{}, errors.New("ECR returned no token")
	}
	token, err := base64.StdEncoding.DecodeString(aws.ToString(response.AuthorizationData[0].AuthorizationToken))
	if err != nil {
		return authn.AuthConfig{}, err
	}
	user, password, _ := strings.Cut(string(token), ":")
	return authn.AuthConfig{Username: user, Password: password}, nil
}

// google returns a token for the identity of the pod (Workload Identity) or node.
func google(ctx context.Context, _ string) (authn.AuthConfig, error) {
	found, err := googleauth.FindDefaultCredentials(ctx, "https://www.googleapis.com/auth/cloud-platform")
	if err != nil {
		return authn.AuthConfig{}, err
	}
	token, err := found.TokenSource.Token()
	if err != nil {
		return authn.AuthConfig{}, err
	}
	return authn.AuthConfig{Username: "oauth2accesstoken", Password: token.AccessToken}, nil
}

const (
	// azureUser is the user name that goes with a refresh token.
	azureUser        = "00000000-0000-0000-0000-000000000000"
	maxAzureResponse = 64 << 10
)

// azureAudiences maps the end of the registry host to the audience of the identity token.
var azureAudiences = map[string]string{
	".io": "https://containerregistry.azure.net", ".cn": "https://management.chinacloudapi.cn",
	".us": "https://management.usgovcloudapi.net",
}

// azureRetry bounds retries against the node's metadata service, which many clusters do not have; the default retries
// for minutes.
var azureRetry = policy.RetryOptions{MaxRetries: 1, RetryDelay: 500 * time.Millisecond, TryTimeout: 3 * time.Second}

type azure struct{ client *http.Client }

// newClient returns a client that follows no redirects, so that the token reaches only the registry.
func newClient() *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// request exchanges a token of the identity of the pod (Workload Identity) or node for a refresh token of the registry.
func (a azure) token(ctx context.Context, host string) (authn.AuthConfig, error) {
	identity, err := azureIdentity()
	if err != nil {
		return authn.AuthConfig{}, err
	}
	scope := azureAudiences[host[strings.LastIndex(host, "."):]] + "/.default"
	token, err := identity.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{scope}})
	if err != nil {
		return authn.AuthConfig{}, err
	}
	form := url.Values{"grant_type": {"access_token"}, "service": {host}, "access_token": {token.Token}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+host+"/oauth2/exchange",
		strings.NewReader(form.Encode()))
	if err != nil {
		return authn.AuthConfig{}, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := a.client.Do(request)
	if err != nil {
		return authn.AuthConfig{}, err
	}
	defer func() { _ = response.Body.Close() }()
	var body struct {
		RefreshToken string `json:"refresh_token"`
	}
	err = json.NewDecoder(io.LimitReader(response.Body, maxAzureResponse)).Decode(&body)
	if response.StatusCode != http.StatusOK || err != nil || body.RefreshToken == "" {
		return authn.AuthConfig{}, cmp.Or(err, fmt.Errorf("the registry returned no token, but status %d",
			response.StatusCode))
	}
	return authn.AuthConfig{Username: azureUser, Password: body.RefreshToken}, nil
}

// azureIdentity returns the Workload Identity of the pod if its environment variables are set, otherwise the managed
// identity of the node.
func azureIdentity() (azcore.TokenCredential, error) {
	if os.Getenv("AZURE_FEDERATED_TOKEN_FILE") != "" {
		return azidentity.NewWorkloadIdentityCredential(nil)
	}
	options := azidentity.ManagedIdentityCredentialOptions{ClientOptions: azcore.ClientOptions{Retry: azureRetry}}
	if id := os.Getenv("AZURE_CLIENT_ID"); id != "" {
		options.ID = azidentity.ClientID(id)
	}
	return azidentity.NewManagedIdentityCredential(&options)
}
