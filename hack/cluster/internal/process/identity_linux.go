// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// startTime returns the boot id and the process's start in clock ticks since boot.
func startTime(pid int) (string, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if errors.Is(err, os.ErrNotExist) {
		return "", errNoProcess
	}
	if err != nil {
		return "", err
	}
	state, ticks, err := parseStat(string(stat))
	if err != nil {
		return "", err
	}
	if state == "Z" || state == "X" {
		return "", errNoProcess
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + ticks, nil
}

// parseStat returns the state and the start time (fields 3 and 22 of proc(5)'s stat). The second field, the command,
// may contain anything.
func parseStat(line string) (state, ticks string, err error) {
	end := strings.LastIndexByte(line, ')')
	fields := strings.Fields(line[end+1:])
	if end < 0 || len(fields) < 20 {
		return "", "", fmt.Errorf("unexpected process status %q", line)
	}
	return fields[0], fields[19], nil
}
