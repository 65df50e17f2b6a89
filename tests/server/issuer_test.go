// SPDX-License-Identifier: Apache-2.0

package server

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// issuer is an OpenID Connect issuer over TLS with real keys.
type issuer struct {
	url string
	// caFile is the file with the issuer's CA certificate.
	caFile string
	client *http.Client
	lock   sync.Mutex
	keys   []signingKey
}

type signingKey struct {
	id      string
	private crypto.Signer
}

// newIssuer starts an issuer with an RS256 key.
func newIssuer(t *testing.T) *issuer {
	t.Helper()
	ca := framework.NewCA(t)
	i := &issuer{caFile: filepath.Join(t.TempDir(), "ca.crt"), client: &http.Client{Transport: &http.Transport{TLSClientConfig: ca.Trust("localhost")}}}
	framework.WriteFile(t, i.caFile, string(ca.PEM))
	i.add(t, "first", rsaKey(t))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]any{"keys": i.published()})
	})
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]any{
			"issuer": i.url, "jwks_uri": i.url + "/keys", "id_token_signing_alg_values_supported": []string{"RS256", "ES256"},
		})
	})
	i.url = "https://" + serveTLS(t, ca, mux)
	return i
}

// discovered returns the address of the keys from the issuer's discovery document.
func (i *issuer) discovered(t *testing.T) string {
	t.Helper()
	var document struct {
		JWKSURI string `json:"jwks_uri"`
	}
	if status := getBy(t, i.client, i.url+"/.well-known/openid-configuration", &document); document.JWKSURI == "" {
		t.Fatalf("status %d: %+v", status, document)
	}
	return document.JWKSURI
}

func rsaKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	framework.NoError(t, err)
	return key
}

func ecKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	framework.NoError(t, err)
	return key
}

func (i *issuer) add(t *testing.T, id string, key crypto.Signer) {
	t.Helper()
	i.lock.Lock()
	defer i.lock.Unlock()
	i.keys = append(i.keys, signingKey{id, key})
}

// published returns the public keys as JSON Web Keys.
func (i *issuer) published() []map[string]any {
	i.lock.Lock()
	defer i.lock.Unlock()
	var set []map[string]any
	for _, key := range i.keys {
		public := map[string]any{"kid": key.id, "use": "sig"}
		switch k := key.private.Public().(type) {
		case *rsa.PublicKey:
			maps.Copy(public, map[string]any{"kty": "RSA", "alg": "RS256", "n": encoded(k.N.Bytes()), "e": encoded(big.NewInt(int64(k.E)).Bytes())})
		case *ecdsa.PublicKey:
			point, err := k.Bytes() // the byte 4, then x and y
			if err != nil {
				panic(err)
			}
			maps.Copy(public, map[string]any{"kty": "EC", "alg": "ES256", "crv": "P-256", "x": encoded(point[1:33]), "y": encoded(point[33:])})
		}
		set = append(set, public)
	}
	return set
}

// token returns a token of the newest key. claims override those of a valid token.
func (i *issuer) token(t *testing.T, claims map[string]any) string {
	t.Helper()
	i.lock.Lock()
	key := i.keys[len(i.keys)-1]
	i.lock.Unlock()
	return i.tokenBy(t, key, claims)
}

func (i *issuer) tokenBy(t *testing.T, key signingKey, claims map[string]any) string {
	t.Helper()
	now := time.Now()
	all := map[string]any{"iss": i.url, "sub": "alice", "aud": authAudience, "iat": now.Add(-time.Minute).Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	algorithm := "RS256"
	if _, isEC := key.private.(*ecdsa.PrivateKey); isEC {
		algorithm = "ES256"
	}
	signed := encodedJSON(t, map[string]any{"alg": algorithm, "typ": "JWT", "kid": key.id}) + "." + encodedJSON(t, all)
	digest := sha256.Sum256([]byte(signed))
	var signature []byte
	switch k := key.private.(type) {
	case *rsa.PrivateKey:
		made, err := rsa.SignPKCS1v15(rand.Reader, k, crypto.SHA256, digest[:])
		framework.NoError(t, err)
		signature = made
	case *ecdsa.PrivateKey:
		r, s, err := ecdsa.Sign(rand.Reader, k, digest[:])
		framework.NoError(t, err)
		signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	}
	return signed + "." + encoded(signature)
}

func encoded(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

func encodedJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	framework.NoError(t, err)
	return encoded(text)
}

func respond(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
