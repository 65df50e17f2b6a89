// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/address"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// Scheme and port of Redis.
const (
	redisScheme = "redis"
	redisPort   = 6379
	// defaultRedisDatabase is the only database that the server uses.
	defaultRedisDatabase = "0"
	// quietLogLevel keeps the server from logging its configuration at startup.
	quietLogLevel = "core=warning"
)

// redisFields returns the fields of a Redis backend. The server has no password field but builds a URL from host and
// port, so the encoded password precedes the host.
func (s *step) redisFields(b *Backend) ([]entryField, bool) {
	row, ok := s.row(b)
	if !ok {
		return nil, false
	}
	host, port, ok := s.redisEndpoint(b)
	if b.Password != nil {
		use, complete := b.use()
		if instead, refused := row.Instead["password"]; refused {
			s.problems.Add(problem.Problem{
				Reason: problem.UnsupportedByRelease, Path: b.Path + ".password", Type: field.ErrorTypeForbidden,
				Detail: fmt.Sprintf("a password for Redis is not supported on release line %s", s.line.Name),
				Fix: instead + release.OtherLines(func(line *catalog.Line) bool {
					row, ok := line.Backends[b.Type]
					return ok && row.Instead["password"] == ""
				}),
			})
			return nil, false
		}
		if !complete {
			return nil, false // reported by SecretUses
		}
		s.env.Add(environment.Variable{Name: use.EnvName, Ref: use.Ref, Path: use.Path, Part: environment.RedisPassword})
		quiet := environment.Variable{Name: s.line.LogEnv, Value: quietLogLevel, Path: use.Path}
		isQuiet := func(v environment.Variable) bool { return v.Name == quiet.Name }
		if row.LogsPassword && !slices.ContainsFunc(s.env.Needed(), isQuiet) {
			s.env.Add(quiet)
		}
		host = "default:" + document.ReferenceTo(use.EnvName) + "@" + host
	}
	return []entryField{{name: "host", value: document.String(host)}, {name: "port", value: document.Int(int64(port))}}, ok
}

// redisEndpoint parses host:port or redis://host:port. An IPv6 address keeps its brackets for the server's URL.
func (s *step) redisEndpoint(b *Backend) (host string, port int, ok bool) {
	endpoint, path := ptr.Deref(b.Endpoint, ""), b.Path+".endpoint"
	fail := func(detail, fix string) (string, int, bool) {
		s.problems.Add(problem.Problem{Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeInvalid,
			Detail: detail, Fix: fix})
		return "", 0, false
	}
	if endpoint == "" {
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: path, Type: field.ErrorTypeRequired,
			Detail: "type " + b.typeName(systemRedis) + " needs an endpoint",
			Fix:    "for example endpoint: redis.example.svc:6379",
		})
		return "", 0, false
	}
	const form, cutFix = "write it as host:port, for example redis.example.svc:6379", "remove everything after the port"
	scheme, rest, found := strings.Cut(endpoint, "://")
	if !found {
		scheme, rest = redisScheme, endpoint
	}
	hostPort, after := rest, ""
	if at := strings.IndexAny(rest, "/?#"); at >= 0 {
		hostPort, after = rest[:at], strings.Trim(rest[at:], "/")
	}
	switch {
	case strings.EqualFold(scheme, "rediss"):
		return fail("the server does not support TLS to Redis",
			"use redis:// and a Redis with plain connections, for example through a proxy that terminates TLS")
	case !strings.EqualFold(scheme, redisScheme):
		return fail("is neither host:port nor redis://host:port", form)
	case strings.Contains(hostPort, "@"):
		return fail("contains user information, which would be readable in a ConfigMap", "put the password into a Secret "+
			"and refer to it by "+b.Path+".password")
	case strings.ContainsAny(after, "?#"):
		return fail("has options, which the server does not support", cutFix)
	case after != "" && after != defaultRedisDatabase:
		return fail("has the number of a database, but the server uses only database 0", cutFix)
	case !redisHost.MatchString(hostPort):
		return fail("is neither host:port nor redis://host:port", form)
	}
	host, portText, reason := address.Split(hostPort)
	if reason != "" {
		return fail(reason, form)
	}
	if portText == "" {
		return host, redisPort, true
	}
	port, err := strconv.Atoi(portText)
	return host, port, err == nil
}

// redisHost matches hosts with an optional port that are valid in the server's URL; environment references are not.
var redisHost = regexp.MustCompile(`^[A-Za-z0-9._:\[\]-]*$`)
