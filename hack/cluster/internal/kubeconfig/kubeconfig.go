// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/pki"
)

// ContextName is the name of the only context of a kubeconfig.
const ContextName = "cluster"

// Credentials are a kubeconfig user's client certificate, or a token if that is set.
type Credentials struct {
	pki.KeyPair
	Token string
}

// Render returns a self-contained kubeconfig in JSON, which is also YAML.
func Render(server string, ca []byte, credentials Credentials, namespace string) ([]byte, error) {
	encode := base64.StdEncoding.EncodeToString
	user := map[string]string{}
	if credentials.Token != "" {
		user["token"] = credentials.Token
	} else {
		user["client-certificate-data"], user["client-key-data"] = encode(credentials.Cert), encode(credentials.Key)
	}
	context := map[string]string{"cluster": ContextName, "user": ContextName}
	if namespace != "" {
		context["namespace"] = namespace
	}
	return files.JSON(map[string]any{
		"apiVersion":      "v1",
		"kind":            "Config",
		"clusters":        []any{map[string]any{"name": ContextName, "cluster": map[string]string{"server": server, "certificate-authority-data": encode(ca)}}},
		"users":           []any{map[string]any{"name": ContextName, "user": user}},
		"contexts":        []any{map[string]any{"name": ContextName, "context": context}},
		"current-context": ContextName,
	})
}

// Write issues a client certificate for s and writes a kubeconfig with it to file in dir.
func Write(dir, file, server string, ca *pki.Authority, s pki.Subject) error {
	pair, err := ca.Issue(s)
	if err != nil {
		return err
	}
	data, err := Render(server, ca.Cert, Credentials{KeyPair: pair}, "")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
		return fmt.Errorf("kubeconfig of %s: %w", s.CommonName, err)
	}
	return nil
}
