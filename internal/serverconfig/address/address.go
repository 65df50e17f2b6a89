// SPDX-License-Identifier: Apache-2.0

package address

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
)

const maxPort = 65535

// Split splits host:port; an IPv6 address keeps its brackets, and the port is optional. The reason describes an invalid
// address and is empty for a valid one.
func Split(address string) (host, port, reason string) {
	masked := document.MaskReferences(address)
	if strings.ContainsAny(masked, `/\?#`) {
		return "", "", "must be host:port without a path"
	}
	at := strings.Index(masked, ":")
	if before, _, closed := strings.Cut(masked, "]"); closed && strings.HasPrefix(before, "[") {
		at = len(before) + len("]")
	} else if at < 0 {
		at = len(masked)
	}
	host, port = address[:at], strings.TrimPrefix(address[at:], ":")
	rest := masked[at:]
	switch {
	case rest != "" && rest[0] != ':':
		return "", "", "is not host:port"
	case strings.Count(rest, ":") > 1:
		return "", "", "has more than one colon: write an IPv6 address in brackets"
	case host == "" || host == "[]":
		return "", "", "has no host"
	case rest != "" && !document.IsReference(port) && !IsPort(port):
		return "", "", InvalidPort
	}
	return host, port, ""
}

// IsURL reports whether a text is an HTTP or HTTPS URL with a host and a port from 1 to 65535, if any.
func IsURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https") &&
		(u.Port() == "" || IsPort(u.Port()))
}

// InvalidPort is the reason for an invalid port.
const InvalidPort = "has no port between 1 and 65535 after the colon"

// IsPort reports whether a text is a port number from 1 to 65535.
func IsPort(port string) bool {
	n, err := strconv.Atoi(port)
	return err == nil && n >= 1 && n <= maxPort
}

// schemePrefix matches the part of a URL before the authority, valid or not.
var schemePrefix = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]*:)?[/\\]*`)

// HasUserInfo reports whether an address contains user info, even if it is not a valid URL.
func HasUserInfo(address string) bool {
	rest := schemePrefix.ReplaceAllString(document.MaskReferences(address), "")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return strings.Contains(rest, "@")
}
