// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"testing"
)

// CACertificate and OtherCACertificate are CA certificates in PEM form with different keys, valid for a hundred years.
const (
	CACertificate = `-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIUCKnz7MkJBdGqggBdeftBNEIvA3AwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJdGVzdC1jYS0xMCAXDTI2MTEyMjA4MzUwNloYDzIxMjYxMDI5
MDgzNTA2WjAUMRIwEAYDVQQDDAl0ZXN0LWNhLTEwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAASDdrXDuLILdadVZPgMiGq+JS4hEMWNGC0GiN2iLwIoVswSssSTu++N
bCVR6r5/2eyMv8EW9/goAHJOE0cSuPtqo1MwUTAdBgNVHQ4EFgQUa0Ht88OX57dg
TStBkvny2MfdsTowHwYDVR0jBBgwFoAUa0Ht88OX57dgTStBkvny2MfdsTowDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEA8UYsUGYlSXZNHEomVDzl
WBzSAlWUparJGmOV/8y9i5ACIEAd5tWwU57dj4ojlZrEoAgF7HECJWb9XBndpggf
llWu
-----END CERTIFICATE-----
`
	OtherCACertificate = `-----BEGIN CERTIFICATE-----
MIIBfzCCASWgAwIBAgIUP0JzrEHsf2KUXEcQs4oCxV34kyowCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJdGVzdC1jYS0yMCAXDTI2MTEyMjA4MzUwNloYDzIxMjYxMDI5
MDgzNTA2WjAUMRIwEAYDVQQDDAl0ZXN0LWNhLTIwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQoGMvEWCTItUjMZ4Plou9OCSl4hoN26lV91FwB3fDKF7vhMbwV8J/M
uqhaWH1DvlE2cjP53bCQjWLEJzgHU6CTo1MwUTAdBgNVHQ4EFgQUq62OZF+aL774
zlIlExGhRN1TQsMwHwYDVR0jBBgwFoAUq62OZF+aL774zlIlExGhRN1TQsMwDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNIADBFAiEAh3k3CR4JhmgR36TFvNXp
5r/+qNMbYRihUmnHri3OrAwCIHxJKUhXKmOQ/wLXT3VGg+5fXRJ8InI1FoU+kun2
MISh
-----END CERTIFICATE-----
`
)

// NewCACertificate returns a new CA certificate in PEM form that is valid for a day.
func NewCACertificate(t testing.TB) string {
	t.Helper()
	return string(NewCA(t).PEM)
}
