// SPDX-License-Identifier: Apache-2.0

// Package golden holds what the golden tests share: the cases of internal/serverconfig/testdata, the difference between a configuration
// and the base that it was made from, and the comparison of a text with a file.
//
// Contract: a difference loses nothing. Apply of the difference to the base gives the configuration again, with every value, every
// type and the order of every list; the order of a map's keys and comments have no meaning and are not part of it. The same
// configurations give the same bytes. A path names a key of a map by a dot and an item of a list by its identity in brackets:
// providers.inference[vllm].config.base_url. It asks no server and validates nothing.
package golden
