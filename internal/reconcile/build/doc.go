// SPDX-License-Identifier: Apache-2.0

// Package build decides the desired state: the server's configuration and the objects that run it.
//
// Build is a pure function, the same in the operator and in offline tools. It returns all objects or none, so a failing
// edit does not touch what runs.
package build
