// SPDX-License-Identifier: Apache-2.0

package secret

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// OnCluster replaces a keyed hash outside of the cluster, where the key is not available.
const OnCluster = "<on-cluster>"

// Hash is a keyed hash (HMAC-SHA-256). The length of each part counts: "a","bc" and "ab","c" differ.
type Hash struct {
	mac     hash.Hash
	keyless bool
}

// NewHash returns an empty hash. Its Sum is OnCluster without a key: an unkeyed hash could reveal a secret.
func NewHash(key Value) *Hash {
	return &Hash{mac: hmac.New(sha256.New, key.bytes), keyless: key.Empty()}
}

// Text adds a text.
func (h *Hash) Text(s string) { h.add([]byte(s)) }

// Bytes adds a text given as bytes.
func (h *Hash) Bytes(b []byte) { h.add(b) }

// Value adds a secret value.
func (h *Hash) Value(v Value) { h.add(v.bytes) }

func (h *Hash) add(b []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(b)))
	h.mac.Write(length[:])
	h.mac.Write(b)
}

// Sum returns the hash as 32 hexadecimal digits, or OnCluster without a key.
func (h *Hash) Sum() string {
	if h.keyless {
		return OnCluster
	}
	return hex.EncodeToString(h.mac.Sum(nil))[:32]
}
