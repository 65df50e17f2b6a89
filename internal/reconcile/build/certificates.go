// SPDX-License-Identifier: Apache-2.0

package build

import (
	"crypto/x509"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
)

const (
	pemBegin = "-----BEGIN "
	// trustedCertificate is OpenSSL's type of a certificate with trust settings after it.
	trustedCertificate = "TRUSTED CERTIFICATE"
)

type pemContent struct {
	// certificates are its certificates as PEM, without other content.
	certificates string
	// privateKey reports that the text has a private key.
	privateKey bool
}

// readPEM parses a PEM text. A broken certificate is an error, because a missing CA fails much later without a reason.
func readPEM(text string) (pemContent, error) {
	var found pemContent
	var certificates strings.Builder
	for number, rest := 1, nextBlock(text); rest != ""; number++ {
		block := rest
		rest = nextBlock(block[len(pemBegin):])
		block = block[:len(block)-len(rest)]
		kind, _, _ := strings.Cut(strings.TrimPrefix(block, pemBegin), "-----")
		switch kind {
		case "CERTIFICATE", "X509 CERTIFICATE", trustedCertificate:
		default:
			found.privateKey = found.privateKey || strings.HasSuffix(kind, "PRIVATE KEY")
			continue
		}
		decoded, _ := pem.Decode([]byte(block))
		if decoded == nil {
			return pemContent{}, fmt.Errorf("PEM block %d is broken: its lines are not base64, or its END line is missing",
				number)
		}
		if err := parseCertificate(decoded); err != nil {
			return pemContent{}, fmt.Errorf("PEM block %d is not a certificate: %w", number, err)
		}
		certificates.Write(pem.EncodeToMemory(&pem.Block{Type: decoded.Type, Bytes: decoded.Bytes}))
	}
	found.certificates = certificates.String()
	return found, nil
}

func nextBlock(text string) string {
	if strings.HasPrefix(text, pemBegin) {
		return text
	}
	if at := strings.Index(text, "\n"+pemBegin); at >= 0 {
		return text[at+1:]
	}
	return ""
}

func parseCertificate(block *pem.Block) error {
	der := block.Bytes
	if block.Type == trustedCertificate {
		var first asn1.RawValue
		if _, err := asn1.Unmarshal(der, &first); err != nil {
			return errors.New("malformed DER")
		}
		der = first.FullBytes
	}
	_, err := x509.ParseCertificate(der)
	return err
}
