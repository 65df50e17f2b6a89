// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	// Loopback is the address of a database that only processes of this machine use.
	Loopback = "127.0.0.1"

	postgresAdmin  = "admin"
	postgresSecret = "of the administrator"
)

// Postgres is a PostgreSQL of a test's own, with scram passwords. It ends with the test.
type Postgres struct {
	Host string
	Port int
	// CA is the file of the CA certificate; empty without TLS.
	CA string
	// HBA is the file of rules of who may connect, which Reload reads again.
	HBA string
	// Stop stops the PostgreSQL, and Start starts it again.
	Stop, Start func()

	psql string
	// before is a command that runs the server, such as env with variables.
	before []string
}

// StartPostgres starts a PostgreSQL with TLS on a local address; on loopback, the certificate is for localhost only. It
// runs as another user if the test runs as root, which PostgreSQL refuses.
func StartPostgres(t testing.TB, address string) *Postgres {
	t.Helper()
	return startPostgres(t, address, otherUsersDir(t))
}

// StartPostgresWithLocale is StartPostgres with a locale in UTF-8, such as en_US, for databases. Making the locale
// needs the Debian package locales.
func StartPostgresWithLocale(t testing.TB, address, locale string) *Postgres {
	t.Helper()
	dir := otherUsersDir(t)
	if out, err := exec.CommandContext(t.Context(), "localedef", "-i", locale, "-f", "UTF-8", filepath.Join(dir, locale+".utf8")).CombinedOutput(); err != nil {
		t.Fatalf("localedef failed, which needs the Debian package locales: %v: %s", err, out)
	}
	return startPostgres(t, address, dir, "env", "LOCPATH="+dir)
}

// startPostgres starts a PostgreSQL that keeps its data in dir; before is a command that runs it.
func startPostgres(t testing.TB, address, dir string, before ...string) *Postgres {
	t.Helper()
	p := &Postgres{Host: address, CA: filepath.Join(dir, "ca.crt")}
	certificate := NewCA(t).ServerSecret(nil, func(c *x509.Certificate) {
		if address == Loopback {
			p.Host, c.DNSNames = "localhost", []string{"localhost"}
		} else {
			c.IPAddresses = []net.IP{net.ParseIP(address)}
		}
	})
	for name, content := range map[string]string{
		"ca.crt": string(certificate["ca.crt"]), "server.crt": string(certificate["tls.crt"]), "server.key": string(certificate["tls.key"]),
	} {
		WriteFile(t, filepath.Join(dir, name), content)
	}
	p.before = before
	p.start(t, filepath.Dir(databaseProgram(t, "initdb", "/usr/lib/postgresql/*/bin")), dir, address,
		"ssl=on", "ssl_cert_file="+filepath.Join(dir, "server.crt"), "ssl_key_file="+filepath.Join(dir, "server.key"))
	return p
}

// StartPostgresWithVectors starts a PostgreSQL with pgvector and without TLS. The environment variable LLSD_PGVECTOR
// names the folder that tests/server/pgvector.sh prints; a copy of it is run, which the other user can read.
func StartPostgresWithVectors(t testing.TB, address string) *Postgres {
	t.Helper()
	from := os.Getenv("LLSD_PGVECTOR")
	if from == "" {
		t.Fatal("LLSD_PGVECTOR is not set: let make run the test, or set it to what tests/server/pgvector.sh prints")
	}
	dir := otherUsersDir(t)
	programs := filepath.Join(dir, "programs")
	NoError(t, os.CopyFS(programs, os.DirFS(from)))
	p := &Postgres{Host: address}
	p.start(t, filepath.Dir(databaseProgram(t, "initdb", filepath.Join(programs, "*", "pginstall*", "bin"))), dir, address)
	return p
}

// start runs the programs in the folder bin with settings, and keeps the data in dir.
func (p *Postgres) start(t testing.TB, bin, dir, address string, settings ...string) {
	t.Helper()
	p.Port, p.psql = FreePort(t, address), filepath.Join(bin, "psql")
	secret, hba, data := filepath.Join(dir, "secret"), filepath.Join(dir, "hba"), filepath.Join(dir, "data")
	p.HBA = hba
	WriteFile(t, secret, postgresSecret)
	WriteFile(t, hba, strings.Join([]string{"host", "all", "all", "all", "scram-sha-256"}, " ")+"\n")
	chownAll(t, dir)
	runAsOther(t, filepath.Join(bin, "initdb"), "--pgdata", data, "--username", postgresAdmin, "--auth", "scram-sha-256", "--pwfile", secret,
		"--no-sync", "--encoding", "UTF8", "--locale", "C")
	command := append(slices.Clone(p.before), filepath.Join(bin, "postgres"), "-D", data, "-p", strconv.Itoa(p.Port))
	for _, setting := range append(settings, "listen_addresses="+address, "unix_socket_directories=", "fsync=off", "max_connections=300", "hba_file="+hba) {
		command = append(command, "-c", setting)
	}
	p.Start = func() {
		t.Helper()
		p.Stop = startDatabase(t, net.JoinHostPort(address, strconv.Itoa(p.Port)), asOther(command...))
		// PostgreSQL accepts connections before it answers queries.
		Eventually(t, databaseTimeout, "PostgreSQL answers", func() error { _, err := p.try(t, "SELECT 1"); return err })
	}
	p.Start()
}

// Disconnect ends the connections to a database, so that its clients connect again.
func (p *Postgres) Disconnect(t testing.TB, database string) {
	t.Helper()
	p.Query(t, fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s' AND pid <> pg_backend_pid()", database))
}

func (p *Postgres) try(t testing.TB, statements string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), databaseTimeout)
	defer cancel()
	psql := exec.CommandContext(ctx, p.psql, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
		"-h", p.Host, "-p", strconv.Itoa(p.Port), "-U", postgresAdmin, "postgres")
	psql.Env = []string{"PGPASSWORD=" + postgresSecret}
	if p.CA != "" {
		psql.Env = append(psql.Env, "PGSSLMODE=verify-full", "PGSSLROOTCERT="+p.CA)
	}
	psql.Stdin = strings.NewReader(statements)
	out, err := psql.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("psql: %w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), err
}

// Try runs statements and returns their error.
func (p *Postgres) Try(t testing.TB, statements string) error {
	t.Helper()
	_, err := p.try(t, statements)
	return err
}

// Query runs statements and returns their output.
func (p *Postgres) Query(t testing.TB, statements string) string {
	t.Helper()
	out, err := p.try(t, statements)
	NoError(t, err)
	return out
}

// Account creates a user with a password and a database.
func (p *Postgres) Account(t testing.TB, name, password, database string) {
	t.Helper()
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	p.Query(t, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s';\nCREATE DATABASE %s OWNER %s;\n",
		quote(name), strings.ReplaceAll(password, "'", "''"), quote(database), quote(name)))
}

// DSN returns a connection string; query has its parameters.
func (p *Postgres) DSN(userName, password, database, query string) string {
	u := url.URL{
		Scheme: "postgresql", User: url.UserPassword(userName, password), Host: net.JoinHostPort(p.Host, strconv.Itoa(p.Port)), Path: "/" + database, RawQuery: query,
	}
	return u.String()
}
