// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/http"

	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
)

// clients lets nobody but the holder of a certificate send reviews. The file with the CA certificates is read again
// when it changes.
type clients struct {
	certificates *dynamiccertificates.DynamicFileCAContent
}

func newClients(file string) (*clients, error) {
	certificates, err := dynamiccertificates.NewDynamicCAContentFromFile("clients of the webhooks", file)
	if err != nil {
		return nil, err
	}
	return &clients{certificates}, nil
}

// only serves those who have a certificate. Nothing is read of what others send.
func (c *clients) only(next http.Handler) http.Handler {
	authenticator := x509.NewDynamic(c.certificates.VerifyOptions, x509.CommonNameUserConversion)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, known, err := authenticator.AuthenticateRequest(r); err != nil || !known {
			(&refusal{http.StatusForbidden, "a client certificate of the API server is needed"}).write(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}
