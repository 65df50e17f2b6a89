// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package process

import (
	"os/exec"
	"strconv"
	"strings"
)

// startTime returns the start time that ps prints.
func startTime(pid int) (string, error) {
	out, err := exec.Command("ps", "-o", "state=,lstart=", "-p", strconv.Itoa(pid)).Output()
	state, start, found := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || !found || strings.HasPrefix(state, "Z") {
		return "", errNoProcess
	}
	return strings.TrimSpace(start), nil
}
