// SPDX-License-Identifier: Apache-2.0

// Package hosts knows which custom resources use which host name, and which of two that use the same one is older.
//
// Contract: it reads and writes nothing: who watches the custom resources reports them to it. The cost of a change grows with the logarithm of the number of
// uses, apart from moving memory, and a change concerns few others: each use is compared with the next older one only, not with all of them.
// It knows uses by the spec, not whether an edge has admitted them.
package hosts
