// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"errors"
	"net"
	"syscall"
)

// StableError removes the changing parts of a network error, such as addresses and ports.
func StableError(err error) error {
	var timeout interface{ Timeout() bool }
	var dns *net.DNSError
	var errno syscall.Errno
	switch {
	case errors.As(err, &timeout) && timeout.Timeout():
		return errors.New("no response in time")
	case errors.As(err, &dns):
		return errors.New("the name cannot be resolved")
	case errors.As(err, &errno):
		return errno
	}
	return err
}
