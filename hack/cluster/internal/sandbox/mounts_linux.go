// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// kernelSettings are the kernel settings that kubelet expects. It sees these values in files, so that the machine's
// settings stay unchanged.
var kernelSettings = map[string]string{
	"vm/overcommit_memory":      "1",
	"vm/panic_on_oom":           "0",
	"kernel/panic":              "10",
	"kernel/panic_on_oops":      "1",
	"kernel/keys/root_maxkeys":  "1000000",
	"kernel/keys/root_maxbytes": "25000000",
}

// Mount turns the supervisor's mount namespace into the node's: a /proc of its own processes, an empty /run, and the
// cluster's directory as /var, so that kubelet, containerd, CNI, logs and sockets use the cluster's files.
func Mount(dir, bin string) error {
	state := filepath.Join(dir, "var")
	for _, d := range []string{"bin", "sysctl", "var/lib/cluster", "var/lib/containerd", "var/tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	for link, target := range map[string]string{"run": "/run", "log": filepath.Join(Root, "log")} {
		if err := os.Symlink(target, filepath.Join(state, link)); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		source, target, kind string
		flags                uintptr
	}{
		// First, no mount below reaches the machine. Then, mounts reach containers that ask for propagation.
		{"", "/", "", unix.MS_SLAVE | unix.MS_REC},
		{"", "/", "", unix.MS_SHARED | unix.MS_REC},
		{"proc", "/proc", "proc", unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC},
		{bin, filepath.Join(dir, "bin"), "", unix.MS_BIND},
		{dir, filepath.Join(state, strings.TrimPrefix(Root, "/var/")), "", unix.MS_BIND | unix.MS_REC},
		// The last two hide the paths below; the directories above may do so.
		{state, "/var", "", unix.MS_BIND | unix.MS_REC},
		{"tmpfs", "/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV},
	} {
		if err := unix.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mounting %q at %s: %w", m.source, m.target, err)
		}
	}
	for name, value := range kernelSettings {
		file := filepath.Join(Root, "sysctl", strings.ReplaceAll(name, "/", "."))
		if err := os.WriteFile(file, []byte(value+"\n"), 0o600); err != nil {
			return err
		}
		if err := unix.Mount(file, "/proc/sys/"+name, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("covering the kernel setting %s: %w", name, err)
		}
	}
	return nil
}
