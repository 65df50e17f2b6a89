// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// minSize is the size in bytes below which compression gains too little. It is also the first byte's job to say which of both a text is.
const minSize = 256

const (
	plain    = 'p'
	deflated = 'd'
)

// Making a writer or a reader takes more time and memory than using one.
var (
	writers = sync.Pool{New: func() any {
		w, err := flate.NewWriter(io.Discard, flate.BestSpeed)
		if err != nil {
			panic(err) // the level is a constant
		}
		return w
	}}
	readers = sync.Pool{New: func() any { return flate.NewReader(strings.NewReader("")) }}
)

// Pack compresses a text, if it is long enough.
func Pack(text []byte) string {
	var b strings.Builder
	if len(text) < minSize {
		b.Grow(len(text) + 1)
		b.WriteByte(plain)
		b.Write(text)
		return b.String()
	}
	buffer := bytes.NewBuffer(make([]byte, 0, len(text)/2))
	buffer.WriteByte(deflated)
	w := writers.Get().(*flate.Writer)
	defer writers.Put(w)
	w.Reset(buffer)
	// A buffer takes everything.
	_, _ = w.Write(text)
	_ = w.Close()
	return buffer.String() // a copy without the spare bytes
}

// Unpack returns the text that was packed. It fails for what Pack did not return.
func Unpack(packed string) ([]byte, error) {
	if packed == "" {
		return nil, errors.New("nothing is packed")
	}
	kind, rest := packed[0], packed[1:]
	switch kind {
	case plain:
		return []byte(rest), nil
	case deflated:
		r := readers.Get().(io.ReadCloser)
		defer readers.Put(r)
		if err := r.(flate.Resetter).Reset(strings.NewReader(rest), nil); err != nil {
			return nil, err
		}
		return io.ReadAll(r) //nolint:wrapcheck // the caller says what it unpacks
	}
	return nil, fmt.Errorf("unknown kind %q", kind)
}
