// SPDX-License-Identifier: Apache-2.0

package build

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/dsn"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/address"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
)

// The fields of a backend that name a Redis, and a PostgreSQL without a connection string.
const fieldEndpoint, fieldHost = ".endpoint", ".host"

// The database systems.
const systemPostgres, systemRedis = "postgres", "redis"

// Database is a database of a server.
type Database struct {
	// Path is the field that names it.
	Path string
	// IsRedis tells a Redis from a PostgreSQL.
	IsRedis bool
	// Hash is the keyed hash of its host, port, name and user.
	Hash string
	// Others are other custom resources with the same database.
	Others []types.NamespacedName
}

// FindDatabases returns the databases of spec.storage and of the configuration whose address is known; nil without a
// hash key.
func (in *Inputs) FindDatabases() []Database {
	if in.HashKey.Empty() {
		return nil
	}
	var found []Database
	add := func(path, system, host string, parts ...string) {
		host = in.canonicalHost(host)
		if host == "" {
			return
		}
		h := secret.NewHash(in.HashKey)
		for _, part := range append([]string{"database", system, host}, parts...) {
			h.Text(part)
		}
		found = append(found, Database{Path: path, IsRedis: system == systemRedis, Hash: h.Sum()})
	}
	backends := storage.Backends(in.CR.Spec.Storage)
	for i := range backends {
		b := &backends[i]
		if host, port, reason := address.Split(strings.TrimPrefix(ptr.Deref(b.Endpoint, ""), "redis://")); reason == "" {
			add(b.Path+fieldEndpoint, systemRedis, host, cmp.Or(port, "6379"))
		}
		path := b.Path + ".connectionString"
		if fact := in.secret(path); fact != nil && !fact.Value.Empty() {
			if d, err := dsn.Parse(string(fact.Value.Reveal())); err == nil { // derive reports the error
				add(path, systemPostgres, d.Host, strconv.Itoa(d.Port), d.Database, d.User)
			}
		}
		if user := ptr.Deref(b.User, ""); b.Host != nil {
			port := strconv.Itoa(int(ptr.Deref(b.Port, 5432)))
			add(b.Path+fieldHost, systemPostgres, *b.Host, port, ptr.Deref(b.Database, user), user)
		}
	}
	path, connections := in.configConnections()
	for _, c := range connections {
		if c.system == systemRedis {
			add(path, c.system, c.host, c.port)
		} else {
			add(path, c.system, c.host, c.port, c.database, c.user)
		}
	}
	return found
}

// canonicalHost returns the same name for all names of a Service; empty for a host in the pod itself.
func (in *Inputs) canonicalHost(host string) string {
	host = strings.ToLower(strings.Trim(host, "[]."))
	if ip, err := netip.ParseAddr(host); err == nil {
		if ip.IsLoopback() {
			return ""
		}
		return ip.Unmap().String()
	}
	host, _, _ = strings.Cut(host+".", ".svc.")
	host = strings.TrimSuffix(host, ".")
	if host == "localhost" {
		return ""
	}
	if !strings.Contains(host, ".") {
		host += "." + in.CR.Namespace
	}
	return host
}

// warnSharedDatabases warns of databases that other custom resources use, too.
func (r *report) warnSharedDatabases(in *Inputs) {
	var warned []string
	for _, d := range in.Databases {
		others := slices.DeleteFunc(slices.Clone(d.Others), func(o types.NamespacedName) bool {
			return in.isPeer(o.Namespace, o.Name) // on purpose
		})
		if len(others) == 0 || slices.Contains(warned, d.Hash) {
			continue
		}
		warned = append(warned, d.Hash)
		fix := "create a database for each with CREATE DATABASE, and name it in "
		backend, isPart := strings.CutSuffix(d.Path, fieldHost)
		switch {
		case d.IsRedis:
			fix = "run a Redis for each"
		case isPart:
			fix += backend + ".database"
		case d.Path == PathOverride:
			fix += "the configuration or its variables"
		case d.Path == pathVariables:
			fix += "its variable, such as POSTGRES_DB"
		default:
			fix += "the Secret"
		}
		names := make([]string, len(others))
		for i, other := range others {
			names[i] = other.String()
		}
		r.warn(problem.SharedStorageLocation, d.Path, "is the same database and user as in the LlamaStackDistribution "+
			limits.Names(names)+": the servers read and change each other's models, prompts, conversations and files",
			fix)
	}
}

// databaseHashes returns the hashes of all databases, sorted.
func (in *Inputs) databaseHashes() []string {
	var hashes []string
	for _, d := range in.Databases {
		hashes = append(hashes, d.Hash)
	}
	slices.Sort(hashes)
	return slices.Compact(hashes)
}
