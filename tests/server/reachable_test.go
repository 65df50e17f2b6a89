// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/status"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverprobe"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// storageFault is a fault of a PostgreSQL with the user and database "state".
type storageFault struct {
	name        string
	apply, undo func()
	// cause matches the server's log.
	cause string
}

// A server that was ready fails requests while its database has a fault, reports the cause in its log, and serves again.
//
// Proves: R95.
func TestServerReportsUnreachableStorage(t *testing.T) {
	const name, password = "state", "of the server"
	for _, r := range bootedReleases(t) {
		for _, kind := range []string{"redis", "postgres"} {
			t.Run(r.version+"/"+kind, func(t *testing.T) {
				database, inRedis := framework.StartPostgres(t, framework.Loopback), framework.StartRedis(t, password)
				database.Account(t, name, password, name)
				keys := keysIn{}
				if kind == "redis" && r.line != "0.3" { // it supports no Redis password
					keys = keysIn{inRedis.Port, password}
				}
				p := podFor(t, r, keys, database.DSN(name, password, name, "sslmode=disable"), database.CA)
				server, log := bootPod(t, r, p)
				paths := storePaths(t, r, p)
				if r.line != "0.3" && len(paths) != 2 { // it has no request that reads the kv backend
					t.Errorf("the operator reads %v", paths)
				}
				at := serverprobe.Server{URL: server, Stores: paths, Slow: true}
				await := func(what string, want serverprobe.StoreResult, backends ...string) {
					t.Helper()
					framework.Eventually(t, bootTimeout, what, func() error {
						got, err := serverprobe.New().Stores(t.Context(), at)
						if err != nil {
							return err
						}
						for _, backend := range backends {
							if paths[backend] != "" && got[backend] != want {
								return fmt.Errorf("%s is %q", backend, got[backend])
							}
						}
						return nil
					})
				}
				await("all stores are read", serverprobe.StoreRead, "sql_default", "kv_default")
				for _, fault := range storageFaults(t, database, name, password) {
					before := len(log())
					fault.apply()
					await(fault.name, serverprobe.StoreFailed, "sql_default")
					framework.Eventually(t, bootTimeout, "the log has the cause", func() error {
						text := log()[before:]
						if regexp.MustCompile(fault.cause).MatchString(text) {
							return nil
						}
						// The first failure may be that of a connection that the database ended.
						_, _ = serverprobe.New().Stores(t.Context(), at)
						return fmt.Errorf("%s: %s", fault.name, tail(text))
					})
					fault.undo()
					await("after "+fault.name, serverprobe.StoreRead, "sql_default")
				}
				database.Stop()
				inRedis.Stop()
				await("the databases are away", serverprobe.StoreFailed, "sql_default", "kv_default")
				inRedis.Start()
				database.Start()
				await("the databases are back", serverprobe.StoreRead, "sql_default")
				if kind == "redis" { // the kv client of PostgreSQL does not connect again on old release lines
					await("Redis is back", serverprobe.StoreRead, "kv_default")
				}
			})
		}
	}
}

// storePaths returns the requests of the operator that read the stores of a pod, by backend.
func storePaths(t *testing.T, r release, p pod) map[string]string {
	t.Helper()
	stores, err := serverconfig.RemoteStores(framework.ReadFile(t, p.config), nil)
	framework.NoError(t, err)
	return status.Stores(&build.Desired{RemoteStores: stores}, &settings.Distribution{Line: lineOf(t, r)})
}

func storageFaults(t *testing.T, database *framework.Postgres, name, password string) []storageFault {
	t.Helper()
	rules := framework.ReadFile(t, database.HBA)
	// reload writes rules of who may connect, and ends the connections of the server.
	reload := func(text string) {
		framework.WriteFile(t, database.HBA, text)
		database.Query(t, "SELECT pg_reload_conf()")
		framework.Eventually(t, bootTimeout, "the rules count", func() error {
			database.Disconnect(t, name)
			if got := database.Query(t, "SELECT count(*) FROM pg_hba_file_rules WHERE type = 'hostssl'"); (got == "0") == strings.Contains(text, "hostssl") {
				return fmt.Errorf("%s rules demand TLS", got)
			}
			return nil
		})
	}
	// A server connects again faster than two statements follow each other: a rename needs a database that accepts no
	// connections.
	rename := func(from, to string) func() {
		return func() {
			database.Query(t, fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS false", from))
			framework.Eventually(t, bootTimeout, "the database has another name", func() error {
				database.Disconnect(t, from)
				return database.Try(t, fmt.Sprintf("ALTER DATABASE %s RENAME TO %s", from, to)) // connections may still be ending
			})
			database.Query(t, fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS true", to))
		}
	}
	change := func(to string) func() {
		return func() {
			database.Query(t, fmt.Sprintf("ALTER ROLE %s PASSWORD '%s'", name, to))
			database.Disconnect(t, name)
		}
	}
	return []storageFault{
		{"another password", change("another"), change(password), `password authentication failed`},
		{"no such database", rename(name, "moved"), rename("moved", name), `database "state" does not\s+exist`},
		{"TLS demanded", func() { reload(strings.ReplaceAll(string(rules), "host ", "hostssl ")) }, func() { reload(string(rules)) }, `no pg_hba\.conf entry`},
	}
}
