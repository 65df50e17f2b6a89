// SPDX-License-Identifier: Apache-2.0

// Package golden has the cases of internal/serverconfig/testdata, and encodes a configuration as a difference against
// its base. Apply of the difference to the base restores every value, type and list order; the order of map keys and
// comments are not part of it.
//
// The same configurations give the same bytes. A path has a dot before a map key, and the identity of a list item in
// brackets: providers.inference[vllm].config.base_url.
package golden
