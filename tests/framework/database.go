// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// databaseTimeout bounds the start of a database, one command to it, and its end.
const databaseTimeout = time.Minute

// databaseProgram finds a program of the Debian packages postgresql and redis-server.
func databaseProgram(t testing.TB, name, dirs string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dirs, name))
	NoError(t, err)
	if len(found) > 0 {
		return found[len(found)-1]
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%s is not there, which proves that storage works: apt-get install postgresql redis-server", name)
	}
	return path
}

// startDatabase runs a database until the test ends or stop is called, and waits until it accepts connections.
func startDatabase(t testing.TB, address string, command []string) (stop func()) {
	t.Helper()
	ended, stop := startCommand(t, "/", command...)
	Eventually(t, databaseTimeout, command[0]+" accepts connections", func() error {
		select {
		case <-ended:
			return Terminal(errors.New("it ended by itself"))
		default:
		}
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err
	})
	return stop
}

// otherUser returns the user that a database runs as if the test runs as root, or else nil.
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

// asOther returns a command that runs the given one as otherUser.
func asOther(command ...string) []string {
	if u := otherUser(); u != nil {
		return append([]string{"setpriv", "--reuid", u.Uid, "--regid", u.Gid, "--clear-groups"}, command...)
	}
	return command
}

func runAsOther(t testing.TB, command ...string) {
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

// otherUsersDir returns a temporary directory that the other user can enter, unlike those of testing.T.
func otherUsersDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "postgres") //nolint:usetesting // see above
	NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func chownAll(t testing.TB, dir string) {
	t.Helper()
	u := otherUser()
	if u == nil {
		return
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	entries, err := os.ReadDir(dir)
	NoError(t, err)
	for _, entry := range entries {
		NoError(t, os.Chown(filepath.Join(dir, entry.Name()), uid, gid))
	}
	NoError(t, os.Chown(dir, uid, gid))
}
