// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// clientAuthenticator authenticates clients of the webhooks by certificate. It reloads the CA file when it changes.
type clientAuthenticator struct {
	certificates *dynamiccertificates.DynamicFileCAContent
}

func newClientAuthenticator(file string) (*clientAuthenticator, error) {
	certificates, err := dynamiccertificates.NewDynamicCAContentFromFile("clients of the webhooks", file)
	if err != nil {
		return nil, err
	}
	return &clientAuthenticator{certificates}, nil
}

// authenticate rejects requests without a valid client certificate before reading their body.
func (c *clientAuthenticator) authenticate(next http.Handler) http.Handler {
	authenticator := x509.NewDynamic(c.certificates.VerifyOptions, x509.CommonNameUserConversion)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known, err := authenticator.AuthenticateRequest(r); err != nil || !known {
			(&httpError{http.StatusForbidden, "a client certificate of the API server is required"}).write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}
