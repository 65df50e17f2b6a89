// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"slices"
	"strings"
)

// Machine has the properties of a machine that the node tier depends on.
type Machine struct {
	root     bool
	programs map[string]bool // found on PATH
	// CNIBin is a directory with the required CNI plugins, or empty.
	CNIBin string
	aptGet bool
	// cgroups means that a cgroup hierarchy is mounted.
	cgroups bool
}

// packageOf has the Debian and Ubuntu packages of the programs that the node tier runs but does not build.
var packageOf = map[string]string{
	"containerd": "containerd",
	"ctr":        "containerd",
	"runc":       "runc",
	"ip":         "iproute2",
	"nft":        "nftables",
	"nsenter":    "util-linux",
}

// cniPackage has the CNI plugins, cniDirectories are their folders in different distributions, and cniPlugins the
// required ones.
const cniPackage = "containernetworking-plugins"

var (
	cniDirectories = []string{"/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"}
	cniPlugins     = []string{"host-local", "loopback", "ptp"}
)

// missingPackages returns the packages to install, sorted.
func (m Machine) missingPackages() []string {
	var list []string
	for program, found := range m.programs {
		if !found {
			list = append(list, packageOf[program])
		}
	}
	if m.CNIBin == "" {
		list = append(list, cniPackage)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// preflightError has everything that prevents the node tier from running, with the fixes.
type preflightError struct{ problems []string }

func (e *preflightError) Error() string {
	return "the node tier cannot run here:\n  - " + strings.Join(e.problems, "\n  - ")
}

// check returns nil if the node tier can run on the machine.
func (m Machine) check() error {
	var problems []string
	if !m.root {
		problems = append(problems, "it needs root, for namespaces and mounts: run the command with sudo "+
			"(and keep the cache: sudo --preserve-env=LLSD_CACHE,HOME,PATH), or use the tier controlplane")
	}
	if packages := m.missingPackages(); len(packages) > 0 {
		names := strings.Join(packages, " ")
		if m.aptGet {
			problems = append(problems, fmt.Sprintf("missing packages: run apt-get install --no-install-recommends %s, or set --install-packages", names))
		} else {
			problems = append(problems, fmt.Sprintf("missing programs: install them (on Debian, the packages are %s)", names))
		}
	}
	if !m.cgroups {
		problems = append(problems, "no cgroups below /sys/fs/cgroup: mount them, or use a machine that has them (an unprivileged container has none)")
	}
	if len(problems) == 0 {
		return nil
	}
	return &preflightError{problems}
}
