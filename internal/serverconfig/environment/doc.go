// SPDX-License-Identifier: Apache-2.0

// Package environment describes the environment variables that the server needs beside config.yaml. A variable names a
// Secret and its key, never the value.
package environment
