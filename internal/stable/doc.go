// SPDX-License-Identifier: Apache-2.0

// Package stable makes the text of an error the same each time it occurs, so that a status with it does not change.
package stable
