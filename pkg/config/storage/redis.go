// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/document"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/config/environment"
	"github.com/llamastack/llama-stack-k8s-operator/pkg/problem"
)

// The environment variable, the field of the spec and the port of Redis.
const (
	envRedisPassword  = "LLSD_STORAGE_KV_PASSWORD"
	pathRedisPassword = pathKV + ".password"

	redisScheme = "redis"
	redisPort   = 6379
	// quietLog keeps the server from printing its configuration at start.
	quietLog = "core=warning"
)

// redisFields are the fields of a Redis backend. The server makes a URL of host and port, so that a password can stand before the host,
// encoded as in a URL; it has no field for one.
func (s *step) redisFields(spec *v1alpha2.KVStorageSpec) ([]entryField, bool) {
	row, ok := s.row("kv_redis", pathKV+".type")
	if !ok {
		return nil, false
	}
	host, port, ok := s.redisEndpoint(ptr.Deref(spec.Endpoint, ""), pathKV+".endpoint")
	if spec.Password != nil {
		use, complete := secretUse(spec.Password, envRedisPassword, pathRedisPassword, &problem.Collector{})
		if instead, refused := row.Instead["password"]; refused {
			s.problems.Add(problem.Problem{
				Reason: problem.UnsupportedByRelease, Path: pathRedisPassword, Type: field.ErrorTypeForbidden,
				Detail: fmt.Sprintf("Redis takes no password on release line %s", s.line.Name), Fix: instead,
			})
			return nil, false
		}
		if !complete {
			return nil, false // has been reported by SecretUses
		}
		s.env.Add(environment.Variable{Name: use.EnvName, Ref: use.Ref, Path: use.Path, Part: environment.RedisPassword})
		if row.Echoed {
			s.env.Add(environment.Variable{Name: s.line.LogEnv, Value: quietLog, Path: use.Path})
		}
		host = "default:" + document.ReferenceTo(use.EnvName) + "@" + host
	}
	return []entryField{{name: "host", value: document.String(host)}, {name: "port", value: document.Int(int64(port))}}, ok
}

// redisEndpoint reads host:port or redis://host:port. An address of IPv6 keeps its brackets, as a URL wants them.
func (s *step) redisEndpoint(endpoint, path string) (host string, port int, ok bool) {
	fail := func(detail, fix string) (string, int, bool) {
		s.problems.Add(problem.Problem{Reason: problem.InvalidEndpoint, Path: path, Type: field.ErrorTypeInvalid, Detail: detail, Fix: fix})
		return "", 0, false
	}
	if endpoint == "" {
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: path, Type: field.ErrorTypeRequired,
			Detail: "type redis needs an endpoint", Fix: "for example endpoint: redis.example.svc:6379",
		})
		return "", 0, false
	}
	const form = "write it as host:port, for example redis.example.svc:6379"
	address := endpoint
	if !strings.Contains(address, "://") {
		address = redisScheme + "://" + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return fail("is neither host:port nor redis://host:port", form)
	case u.Scheme == "rediss":
		return fail("no release of the server speaks TLS to Redis",
			"use redis:// with a Redis that takes plain connections, for example by a proxy that ends TLS beside it")
	case u.Scheme != redisScheme:
		return fail("is neither host:port nor redis://host:port", form)
	case u.User != nil:
		return fail("contains user information, which would be readable in a ConfigMap", "put the password into a Secret and refer to it by "+pathRedisPassword)
	case strings.Trim(u.Path, "/") != "":
		return fail("names a database number, and no release of the server can select one", "remove what follows the port")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return fail("has options, which no release of the server takes", "remove what follows the port")
	case u.Hostname() == "" || strings.ContainsAny(u.Hostname(), "%${}, \\\"'"):
		return fail("is neither host:port nor redis://host:port", form)
	}
	port = redisPort
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return fail("the port is not one of 1 to 65535", form)
		}
	}
	host = u.Hostname()
	if ip := net.ParseIP(host); ip != nil && strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host, port, true
}
