// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// goneWithin bounds how long the kernel of a busy machine needs to remove the network namespaces of ended processes.
const goneWithin = time.Minute

// trace has what a running cluster uses on the machine.
type trace struct {
	dir string
	// processes has the start times of its processes by id.
	processes map[string]string
	// networks are the network namespaces that only its processes use.
	networks map[string]bool
	// link is the machine's end of the network link to the cluster.
	link string
}

// traces finds what belongs to a running cluster.
func traces(c *framework.Cluster) (*trace, error) {
	tr := &trace{dir: c.Dir, processes: map[string]string{}, networks: map[string]bool{}}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		return nil, err
	}
	all, err := processes()
	if err != nil {
		return nil, err
	}
	for pid := range all {
		if !belongs(all, pid, c.Dir) {
			continue
		}
		tr.processes[pid] = all[pid].start
		if network := all[pid].network; network != own && network != "" {
			tr.networks[network] = true
		}
	}
	if tr.link, err = linkWith(c.HostAddress); err != nil {
		return nil, err
	}
	if len(tr.processes) == 0 || len(tr.networks) == 0 || tr.link == "" {
		return nil, fmt.Errorf("a running cluster has processes, network namespaces and a link, but this was found: %+v", tr)
	}
	return tr, nil
}

type process struct {
	parent, start, network string
	user                   string
	// command is the command line, with its words separated by spaces.
	command string
}

// processes lists the processes of the machine by their ids, without those that end meanwhile.
func processes() (map[string]process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	all := map[string]process{}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		dir := "/proc/" + e.Name()
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		// The second field, in parentheses, may contain anything; the third begins after the last parenthesis.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		command, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		network, _ := os.Readlink(filepath.Join(dir, "ns", "net"))
		status, _ := os.ReadFile(filepath.Join(dir, "status"))
		_, users, _ := strings.Cut(string(status), "\nUid:")
		all[e.Name()] = process{
			parent: fields[1], start: fields[19], network: network,
			user: strings.Fields(users + " - -")[1], command: strings.ReplaceAll(string(command), "\x00", " "),
		}
	}
	return all, nil
}

// belongs reports whether a process or one of its ancestors has the directory on its command line.
func belongs(all map[string]process, pid, dir string) bool {
	for range 100 { // deeper than any process tree
		p, ok := all[pid]
		if !ok || pid == strconv.Itoa(os.Getpid()) {
			return false
		}
		if strings.Contains(p.command, dir) {
			return true
		}
		pid = p.parent
	}
	return false
}

// usersOf lists the users of the cluster's processes whose command line contains the text, without duplicates.
func usersOf(c *framework.Cluster, command string) ([]string, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var users []string
	for pid, p := range all {
		if strings.Contains(p.command, command) && belongs(all, pid, c.Dir) {
			users = append(users, p.user)
		}
	}
	slices.Sort(users)
	return slices.Compact(users), nil
}

// linkWith returns the network interface that has the address, or "".
func linkWith(address string) (string, error) {
	interfaces, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		if err != nil {
			continue // removed meanwhile
		}
		for _, a := range addresses {
			if strings.HasPrefix(a.String(), address+"/") {
				return i.Name, nil
			}
		}
	}
	return "", nil
}

// gone returns an error with what is left of the cluster after goneWithin.
func (tr *trace) gone() error {
	deadline := time.NewTimer(goneWithin)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := tr.left()
		if err == nil {
			return nil
		}
		select {
		case <-deadline.C:
			return fmt.Errorf("left %s after the end of the cluster: %w", goneWithin, err)
		case <-tick.C:
		}
	}
}

func (tr *trace) left() error {
	all, err := processes()
	if err != nil {
		return err
	}
	var left []error
	for pid, p := range all {
		start, known := tr.processes[pid]
		if (known && start == p.start) || belongs(all, pid, tr.dir) || tr.networks[p.network] {
			left = append(left, fmt.Errorf("process %s: %q", pid, p.command))
		}
	}
	if _, err := net.InterfaceByName(tr.link); err == nil {
		left = append(left, fmt.Errorf("network interface %s", tr.link))
	}
	for _, file := range []string{"/proc/self/mountinfo", "/proc/net/route"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, tr.dir+"/") || strings.HasPrefix(line, tr.link+"\t") {
				left = append(left, fmt.Errorf("%s: %s", file, strings.TrimSpace(line)))
			}
		}
	}
	return errors.Join(left...)
}
