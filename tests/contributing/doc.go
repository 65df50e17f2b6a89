// SPDX-License-Identifier: Apache-2.0

// Package contributing checks the links of all pages of the project.
package contributing
