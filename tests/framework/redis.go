// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Redis is a Redis on loopback that accepts several passwords. It ends with the test.
type Redis struct {
	Port int
	// Stop stops the Redis, and Start starts it again.
	Stop, Start func()
}

// StartRedis starts a Redis. Without passwords, it requires none.
func StartRedis(t testing.TB, passwords ...string) *Redis {
	t.Helper()
	bin := databaseProgram(t, "redis-server", "/usr/bin")
	r := &Redis{Port: FreePort(t, Loopback)}
	acl := []string{"user default on ~* &* +@all"}
	if len(passwords) == 0 {
		acl = append(acl, "nopass")
	}
	for _, password := range passwords {
		acl = append(acl, fmt.Sprintf("#%x", sha256.Sum256([]byte(password))))
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "redis.conf")
	WriteFile(t, config, fmt.Sprintf("bind %s\nport %d\ndir %s\nsave \"\"\nappendonly no\n%s\n", Loopback, r.Port, dir, strings.Join(acl, " ")))
	r.Start = func() {
		t.Helper()
		r.Stop = startDatabase(t, net.JoinHostPort(Loopback, strconv.Itoa(r.Port)), []string{bin, config})
	}
	r.Start()
	return r
}

// Keys returns the keys of the database, sorted.
func (r *Redis) Keys(t testing.TB, password string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), databaseTimeout)
	defer cancel()
	cli := exec.CommandContext(ctx, databaseProgram(t, "redis-cli", "/usr/bin"), "-h", Loopback, "-p", strconv.Itoa(r.Port), "--no-auth-warning", "keys", "*")
	cli.Env = []string{"REDISCLI_AUTH=" + password}
	out, err := cli.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("NOAUTH")) {
		t.Fatalf("redis-cli: %v: %s", err, out)
	}
	return slices.Sorted(strings.FieldsSeq(string(out)))
}
