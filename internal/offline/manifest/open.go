// SPDX-License-Identifier: Apache-2.0

//go:build !wasm

package manifest

import "syscall"

// nonBlocking lets the opening of a FIFO return before its other side is open.
const nonBlocking = syscall.O_NONBLOCK
