// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"os"
	"testing"
)

// NoError ends the test if there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ReadFile reads a file, or ends the test.
func ReadFile(t testing.TB, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(name)
	NoError(t, err)
	return content
}

// WriteFile writes a file that only its owner can read.
func WriteFile[T string | []byte](t testing.TB, name string, content T) {
	t.Helper()
	NoError(t, os.WriteFile(name, []byte(content), 0o600))
}
