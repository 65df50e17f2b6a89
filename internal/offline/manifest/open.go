// SPDX-License-Identifier: Apache-2.0

//go:build !wasm

package manifest

import "syscall"

// nonBlocking makes opening a FIFO return at once.
const nonBlocking = syscall.O_NONBLOCK
