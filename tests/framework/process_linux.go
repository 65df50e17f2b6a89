// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTicks is the number of ticks in a second, as user space sees it on every architecture.
const clockTicks = 100

// CPUTimeOf returns the processor time of a process in steps of 10 ms, or an error if the process does not exist.
func CPUTimeOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields behind the name", pid, len(fields))
	}
	user, err1 := strconv.ParseInt(fields[11], 10, 64)
	system, err2 := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / clockTicks, errors.Join(err1, err2)
}

// MemoryOf returns the resident memory of a process in bytes, and the most that it had, or an error if the process has
// ended.
func MemoryOf(pid int) (resident, peak int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		for name, into := range map[string]*int64{"VmHWM:": &peak, "VmRSS:": &resident} {
			if rest, ok := strings.CutPrefix(line, name); ok {
				kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
				if err != nil {
					return 0, 0, err
				}
				*into = kib << 10
			}
		}
	}
	if peak == 0 {
		return 0, 0, errors.New("the process has ended")
	}
	return resident, peak, nil
}

// endsWithParent lets a process end when this program ends.
func endsWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
