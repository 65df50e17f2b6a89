// SPDX-License-Identifier: Apache-2.0

package dsn

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// DSN is a parsed connection string.
type DSN struct {
	// Host is a name or an address; IPv6 has no brackets.
	Host string
	Port int
	// User and Database are decoded; the default database is the user's name.
	User, Database string
	Password       string
	SSLMode        string
}

const defaultPort = 5432

// sslModes are the TLS modes of PostgreSQL's clients.
var sslModes = []string{"disable", "allow", "prefer", "require", "verify-ca", "verify-full"}

// knownOptions are the options that messages may name; another name may be a part of a password.
var knownOptions = []string{
	"application_name", "channel_binding", "client_encoding", "connect_timeout", "fallback_application_name",
	"gssencmode", "hostaddr",
	"keepalives", "keepalives_count", "keepalives_idle", "keepalives_interval", "krbsrvname", "load_balance_hosts",
	"options", "passfile",
	"replication", "require_auth", "requirepeer", "service", "sslcert", "sslcertmode", "sslcompression", "sslcrl",
	"sslcrldir", "sslkey",
	"sslnegotiation", "sslpassword", "sslrootcert", "sslsni", "ssl_max_protocol_version", "ssl_min_protocol_version",
	"target_session_attrs", "tcp_user_timeout",
}

// scheme also matches names of Python drivers.
var scheme = regexp.MustCompile(`^(?i:postgres(ql)?(\+[a-z0-9_]+)?)://`)

// Parse parses a connection string.
func Parse(text string) (*DSN, error) {
	var options map[string]string
	var err error
	switch {
	case scheme.MatchString(text):
		options, err = fromURI(text)
	case strings.Contains(text, "://"):
		err = errors.New("has a scheme other than postgresql: use the form postgresql://user:password@host:5432/db")
	default:
		options, err = fromKeywords(text)
	}
	if err != nil {
		return nil, err
	}
	return fromOptions(options)
}

// fromOptions returns the DSN of options by libpq's names.
func fromOptions(options map[string]string) (*DSN, error) {
	take := func(name string) string {
		value := options[name]
		delete(options, name)
		return value
	}
	d := &DSN{Host: take("host"), User: take("user"), Database: take("dbname"), Password: take("password"),
		SSLMode: take("sslmode"), Port: defaultPort}
	port := take("port")
	switch {
	case d.Host == "":
		return nil, errors.New("has no host: the server connects to the database only over the network")
	case strings.ContainsAny(d.Host+port, ","):
		return nil, errors.New("has several hosts, but the server supports only one: use the address of the primary")
	case strings.HasPrefix(d.Host, "/") || strings.HasPrefix(d.Host, "@"):
		return nil, errors.New("has a Unix socket, which no pod shares with the database: use a host")
	case !isHost(d.Host):
		return nil, errors.New("has a host that is neither a name nor an address; " + encodeHint)
	case d.User == "":
		return nil, errors.New("has no user: use the form postgresql://user:password@host:5432/db")
	case d.SSLMode != "" && !slices.Contains(sslModes, d.SSLMode):
		return nil, errors.New("has an unknown sslmode: it is one of " + strings.Join(sslModes, ", "))
	}
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return nil, errors.New("has a port that is not one of 1 to 65535; " + encodeHint)
		}
		d.Port = int(n)
	}
	if d.Database == "" {
		d.Database = d.User
	}
	for name := range options {
		if err := optionError(name, options); err != nil {
			return nil, err
		}
	}
	for _, value := range []string{d.User, d.Database, d.Password} {
		if strings.ContainsRune(value, 0) {
			return nil, errors.New("has a zero byte, which PostgreSQL does not accept: remove it")
		}
	}
	return d, nil
}

// optionError returns the error for the remaining options, independent of the map's order.
func optionError(name string, options map[string]string) error {
	var known []string
	for option := range options {
		if slices.Contains(knownOptions, option) {
			known = append(known, option)
		}
	}
	slices.Sort(known)
	switch {
	case slices.Contains(known, "sslrootcert"):
		return errors.New("refers to a file with CA certificates (sslrootcert), which is not in the pod: set " +
			"spec.networking.tls.caBundle")
	case len(known) > 0:
		return fmt.Errorf("has options that some server releases do not support: remove %s",
			strings.Join(known, ", "))
	case name == "":
		return errors.New("has an option without a name; " + encodeHint)
	}
	return errors.New("has an option that PostgreSQL does not know; " + encodeHint)
}

const encodeHint = "in a URI, write the characters : / ? # [ ] @ % of user and password percent-encoded, '@' as %40"

// hostName matches host names of Kubernetes and DNS.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]*[A-Za-z0-9_.])?$`)

func isHost(host string) bool { return hostName.MatchString(host) || net.ParseIP(host) != nil }

// fromURI returns the options of a URI. As in libpq, the query wins.
func fromURI(text string) (map[string]string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("is not a valid URI; " + encodeHint)
	}
	if u.Fragment != "" || strings.Contains(text, "#") {
		return nil, errors.New("has a '#' that is not encoded; " + encodeHint)
	}
	options := map[string]string{}
	if u.User != nil {
		options["user"] = u.User.Username()
		if password, ok := u.User.Password(); ok {
			options["password"] = password
		}
	}
	// Split before decoding: a name may hold an encoded '/'.
	path := strings.TrimPrefix(u.EscapedPath(), "/")
	if strings.Contains(path, "/") {
		return nil, errors.New("has a '/' in the name of the database; " + encodeHint)
	}
	database, err := url.PathUnescape(path)
	if err != nil {
		return nil, errors.New("is not a valid URI; " + encodeHint)
	}
	options["dbname"], options["host"], options["port"] = database, u.Hostname(), u.Port()
	// Unlike in a form, a plus is literal.
	query, err := url.ParseQuery(strings.ReplaceAll(u.RawQuery, "+", "%2B"))
	if err != nil {
		return nil, errors.New("has options that cannot be read; " + encodeHint)
	}
	for name, values := range query {
		if name == "ssl" {
			name, values = "sslmode", append(values, query["sslmode"]...)
		}
		if len(values) > 1 {
			return nil, errors.New("has a duplicate option: remove one")
		}
		options[name] = values[0]
	}
	return options, nil
}

// fromKeywords parses key=value pairs. A value may have single quotes; a backslash escapes the next character.
func fromKeywords(text string) (map[string]string, error) {
	malformed := errors.New("is neither a URI (postgresql://user:password@host:5432/db) nor keywords (host=… dbname=… " +
		"user=… password=…)")
	options := map[string]string{}
	rest := strings.TrimSpace(text)
	for rest != "" {
		name, after, ok := strings.Cut(rest, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || strings.ContainsAny(name, " \t\r\n'\\") {
			return nil, malformed
		}
		value, left, ok := keywordValue(strings.TrimLeft(after, " \t\r\n"))
		if !ok {
			return nil, malformed
		}
		if _, twice := options[name]; twice {
			return nil, errors.New("has a duplicate option: remove one")
		}
		options[name], rest = value, strings.TrimSpace(left)
	}
	if len(options) == 0 {
		return nil, malformed
	}
	return options, nil
}

func keywordValue(text string) (value, rest string, ok bool) {
	quoted := strings.HasPrefix(text, "'")
	if quoted {
		text = text[1:]
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
			if i == len(text) {
				return "", "", false
			}
			b.WriteByte(text[i])
		case quoted && c == '\'':
			return b.String(), text[i+1:], true
		case !quoted && strings.IndexByte(" \t\r\n", c) >= 0:
			return b.String(), text[i:], true
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), "", !quoted
}

// Verifies reports whether the TLS mode needs CA certificates.
func (d *DSN) Verifies() bool { return d.SSLMode == "verify-ca" || d.SSLMode == "verify-full" }

// URLHost returns the host in its URL form.
func (d *DSN) URLHost() string {
	if strings.Contains(d.Host, ":") {
		return "[" + d.Host + "]"
	}
	return d.Host
}

// URI returns the connection string as a URI without ambiguities, with the CA file if the TLS mode needs it.
func (d *DSN) URI(rootCert string) string {
	var b strings.Builder
	b.WriteString("postgresql://" + Encode(d.User))
	if d.Password != "" {
		b.WriteString(":" + Encode(d.Password))
	}
	b.WriteString("@" + d.URLHost() + ":" + strconv.Itoa(d.Port) + "/" + Encode(d.Database))
	if d.SSLMode != "" {
		b.WriteString("?sslmode=" + d.SSLMode)
		if d.Verifies() && rootCert != "" {
			b.WriteString("&sslrootcert=" + Encode(rootCert))
		}
	}
	return b.String()
}

// Encode percent-encodes a text for any part of a URL.
func Encode(text string) string {
	var b strings.Builder
	for i := range len(text) {
		if c := text[i]; strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._"
