// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// contextName is the name of the one context of every kubeconfig written here.
const contextName = "cluster"

// credentials is how a kubeconfig's user proves itself: a client certificate, or
// a token when that is set.
type credentials struct {
	keyPair
	token string
}

// kubeconfig renders a kubeconfig that needs no other file. It is JSON, which is
// YAML too.
func kubeconfig(server string, ca []byte, who credentials, namespace string) ([]byte, error) {
	encode := base64.StdEncoding.EncodeToString
	user := map[string]string{}
	if who.token != "" {
		user["token"] = who.token
	} else {
		user["client-certificate-data"], user["client-key-data"] = encode(who.cert), encode(who.key)
	}
	context := map[string]string{"cluster": contextName, "user": contextName}
	if namespace != "" {
		context["namespace"] = namespace
	}
	return indentedJSON(map[string]any{
		"apiVersion":      "v1",
		"kind":            "Config",
		"clusters":        []any{map[string]any{"name": contextName, "cluster": map[string]string{"server": server, "certificate-authority-data": encode(ca)}}},
		"users":           []any{map[string]any{"name": contextName, "user": user}},
		"contexts":        []any{map[string]any{"name": contextName, "context": context}},
		"current-context": contextName,
	})
}

// writeKubeconfig issues a client certificate for s and stores a kubeconfig with
// it as file in dir.
func writeKubeconfig(dir, file, server string, ca *authority, s subject) error {
	pair, err := ca.issue(s)
	if err != nil {
		return err
	}
	data, err := kubeconfig(server, ca.cert, credentials{keyPair: pair}, "")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
		return fmt.Errorf("kubeconfig of %s: %w", s.commonName, err)
	}
	return nil
}

func indentedJSON(value any) ([]byte, error) {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}
