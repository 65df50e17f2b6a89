// SPDX-License-Identifier: Apache-2.0

// Package contributing follows the links of all pages of the project.
package contributing
