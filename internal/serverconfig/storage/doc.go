// SPDX-License-Identifier: Apache-2.0

// Package storage applies spec.storage to a configuration: the kv and SQL backends, the stores, and the environment
// variables with credentials. It changes only section storage of the document; backends keep their names, so that
// references stay valid.
package storage
