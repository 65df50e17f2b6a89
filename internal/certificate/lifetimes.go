// SPDX-License-Identifier: Apache-2.0

package certificate

import "time"

const day = 24 * time.Hour

// Lifetimes say how long certificates live, and how long old and new ones overlap.
type Lifetimes struct {
	// CA is how long a CA certificate is valid, CARenewal how long before its end the next one is made.
	CA, CARenewal time.Duration
	// Serving is how long a serving certificate is valid, ServingRenewal how long before its end the next one is made.
	Serving, ServingRenewal time.Duration
	// Overlap is how long a new CA is trusted before it signs, and the old one after that. It must be longer than an
	// API server takes until it uses a new CA bundle (seconds), and leave time to fix what keeps the bundle from
	// being written. Twice the overlap must fit into ServingRenewal.
	Overlap time.Duration
	// Backdate is how far clocks may be apart: certificates are valid from so long before they are made.
	Backdate time.Duration
	// WritePeriod is how long to wait between writes once a few of them in a row have not been enough.
	WritePeriod time.Duration
}

// DefaultLifetimes are those of every installation.
func DefaultLifetimes() Lifetimes {
	return Lifetimes{
		CA: 3650 * day, CARenewal: 365 * day,
		Serving: 90 * day, ServingRenewal: 30 * day,
		Overlap: day, Backdate: time.Hour, WritePeriod: time.Minute,
	}
}
