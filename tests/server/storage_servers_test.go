// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	// databaseTimeout bounds the start of a database, and one command to it.
	databaseTimeout = time.Minute
	postgresAdmin   = "admin"
	postgresSecret  = "of the administrator"
)

// postgres is a PostgreSQL of the test's own on loopback: scram passwords, TLS with a certificate for localhost by a private CA.
// It ends with the test.
type postgres struct {
	port int
	// ca is the file of the CA certificate, psql the client.
	ca, psql string
}

// startPostgres starts a PostgreSQL, as another user where the test runs as root, which PostgreSQL refuses to be.
func startPostgres(t *testing.T) *postgres {
	t.Helper()
	bin := databaseProgram(t, "initdb", "/usr/lib/postgresql/*/bin")
	dir := otherUsersDir(t)
	p := &postgres{port: freePort(t), ca: filepath.Join(dir, "ca.crt"), psql: filepath.Join(filepath.Dir(bin), "psql")}
	makeCertificates(t, dir)
	writeFile(t, filepath.Join(dir, "secret"), postgresSecret)
	data := filepath.Join(dir, "data")
	chownAll(t, dir)
	runAsOther(t, bin, "--pgdata", data, "--username", postgresAdmin, "--auth", "scram-sha-256", "--pwfile", filepath.Join(dir, "secret"),
		"--no-sync", "--encoding", "UTF8", "--locale", "C")
	startDatabase(t, p.port, asOther(filepath.Join(filepath.Dir(bin), "postgres"), "-D", data, "-p", strconv.Itoa(p.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "fsync=off", "-c", "max_connections=300",
		"-c", "ssl=on", "-c", "ssl_cert_file="+filepath.Join(dir, "server.crt"), "-c", "ssl_key_file="+filepath.Join(dir, "server.key")))
	for deadline := time.Now().Add(databaseTimeout); ; { // it accepts connections before it answers
		if _, err := p.try(t, "SELECT 1"); err == nil {
			return p
		} else if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func (p *postgres) try(t *testing.T, statements string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), databaseTimeout)
	defer cancel()
	psql := exec.CommandContext(ctx, p.psql, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", "localhost", "-p", strconv.Itoa(p.port), "-U", postgresAdmin, "postgres")
	psql.Env = []string{"PGPASSWORD=" + postgresSecret, "PGSSLMODE=verify-full", "PGSSLROOTCERT=" + p.ca}
	psql.Stdin = strings.NewReader(statements)
	out, err := psql.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("psql: %w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), err
}

// query returns what statements select.
func (p *postgres) query(t *testing.T, statements string) string {
	t.Helper()
	out, err := p.try(t, statements)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// account makes a user with a password and a database of its own.
func (p *postgres) account(t *testing.T, name, password, database string) {
	t.Helper()
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	p.query(t, fmt.Sprintf("CREATE ROLE %s LOGIN PASSWORD '%s';\nCREATE DATABASE %s OWNER %s;\n",
		quote(name), strings.ReplaceAll(password, "'", "''"), quote(database), quote(name)))
}

// redis is a Redis of the test's own on loopback that takes several passwords. It ends with the test.
type redis struct{ port int }

func startRedis(t *testing.T, passwords ...string) *redis {
	t.Helper()
	bin := databaseProgram(t, "redis-server", "/usr/bin")
	r := &redis{port: freePort(t)}
	acl := "user default on ~* &* +@all"
	if len(passwords) == 0 {
		acl += " nopass"
	}
	for _, password := range passwords {
		acl += fmt.Sprintf(" #%x", sha256.Sum256([]byte(password)))
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "redis.conf")
	writeFile(t, config, fmt.Sprintf("bind 127.0.0.1\nport %d\ndir %s\nsave \"\"\nappendonly no\n%s\n", r.port, dir, acl))
	startDatabase(t, r.port, []string{bin, config})
	return r
}

// keys lists the keys that Redis holds, sorted.
func (r *redis) keys(t *testing.T, password string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), databaseTimeout)
	defer cancel()
	cli := exec.CommandContext(ctx, databaseProgram(t, "redis-cli", "/usr/bin"), "-h", "127.0.0.1", "-p", strconv.Itoa(r.port), "--no-auth-warning", "keys", "*")
	cli.Env = []string{"REDISCLI_AUTH=" + password}
	out, err := cli.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("NOAUTH")) {
		t.Fatalf("redis-cli: %v: %s", err, out)
	}
	return slices.Sorted(strings.FieldsSeq(string(out)))
}

// databaseProgram finds a program of the Debian packages postgresql and redis-server.
func databaseProgram(t *testing.T, name, dirs string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dirs, name))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > 0 {
		return found[len(found)-1]
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not there, which proves that storage works: apt-get install postgresql redis-server", name)
	}
	return path
}

// startDatabase runs a database until the test ends, and waits until it accepts connections.
func startDatabase(t *testing.T, port int, command []string) {
	t.Helper()
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(context.Background())
	database := exec.CommandContext(ctx, command[0], command[1:]...)
	database.Dir, database.Stdout, database.Stderr = "/", &log, &log
	database.Cancel = func() error { return database.Process.Signal(syscall.SIGINT) }
	database.WaitDelay = stopTimeout
	if err := database.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = database.Wait(); close(ended) }()
	t.Cleanup(func() { cancel(); <-ended })
	deadline, tick := time.After(databaseTimeout), time.Tick(pollPause)
	for {
		connection, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			_ = connection.Close()
			return
		}
		select {
		case <-tick:
		case <-ended:
			t.Fatalf("%s ended by itself:\n%s", command[0], log.String())
		case <-deadline:
			t.Fatalf("%s does not answer after %s", command[0], databaseTimeout)
		}
	}
}

// otherUser is who a database runs as where the test is root; nil where it is not.
func otherUser() *user.User {
	if os.Geteuid() != 0 {
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return u
		}
	}
	return nil
}

// asOther is a command as that user.
func asOther(command ...string) []string {
	if u := otherUser(); u != nil {
		return append([]string{"setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--clear-groups"}, command...)
	}
	return command
}

func runAsOther(t *testing.T, command ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), databaseTimeout)
	defer cancel()
	command = asOther(command...)
	run := exec.CommandContext(ctx, command[0], command[1:]...)
	run.Dir = "/"
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

// otherUsersDir is a directory that the other user can reach; those of testing.T are the test's user's alone.
func otherUsersDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "postgres") //nolint:usetesting // see above
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func chownAll(t *testing.T, dir string) {
	t.Helper()
	u := otherUser()
	if u == nil {
		return
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if err := os.Chown(filepath.Join(dir, entry.Name()), uid, gid); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
}

// makeCertificates makes a CA certificate and a certificate for localhost.
func makeCertificates(t *testing.T, dir string) {
	t.Helper()
	ca := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "CA of the test"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "localhost"}, DNSNames: []string{"localhost"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: ca.NotBefore, NotAfter: ca.NotAfter,
	}
	authorityKey, leafKey := newKey(t), newKey(t)
	sign := func(name string, template *x509.Certificate, key *ecdsa.PrivateKey) {
		der, err := x509.CreateCertificate(rand.Reader, template, ca, &key.PublicKey, authorityKey)
		if err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	}
	sign("ca.crt", ca, authorityKey)
	sign("server.crt", leaf, leafKey)
	der, err := x509.MarshalPKCS8PrivateKey(leafKey)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "server.key"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func writeFile(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
