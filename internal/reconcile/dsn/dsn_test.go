// SPDX-License-Identifier: Apache-2.0

package dsn_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/dsn"
)

// Proves: FR-052, R24.
func TestParse(t *testing.T) {
	full := &dsn.DSN{Host: "db.example", Port: 5433, User: "us@er", Password: `p@:/#%41?&"' 1`, Database: "da ta", SSLMode: "verify-full"}
	for name, c := range map[string]struct {
		text string
		want *dsn.DSN
	}{
		"URI":              {"postgresql://us%40er:p%40%3A%2F%23%2541%3F%26%22%27%201@db.example:5433/da%20ta?sslmode=verify-full", full},
		"keywords":         {`host=db.example port = 5433 user=us@er password='p@:/#%41?&"\' 1' dbname=da\ ta sslmode=verify-full `, full},
		"short scheme":     {"postgres://u@h/d", &dsn.DSN{Host: "h", Port: 5432, User: "u", Database: "d"}},
		"with a driver":    {"postgresql+asyncpg://u:123456@h/d?ssl=require", &dsn.DSN{Host: "h", Port: 5432, User: "u", Password: "123456", Database: "d", SSLMode: "require"}},
		"no database":      {"postgresql://u:p@h:1", &dsn.DSN{Host: "h", Port: 1, User: "u", Password: "p", Database: "u"}},
		"IPv6":             {"postgresql://u@[fd00::7]:1/d", &dsn.DSN{Host: "fd00::7", Port: 1, User: "u", Database: "d"}},
		"all in the query": {"postgresql:///?host=h&user=u&dbname=d&password=p%26+", &dsn.DSN{Host: "h", Port: 5432, User: "u", Password: "p&+", Database: "d"}},
		"last port":        {"postgresql://u@h:65535/d", &dsn.DSN{Host: "h", Port: 65535, User: "u", Database: "d"}},
		"plus is a plus":   {"postgresql://u:a+b@h/d", &dsn.DSN{Host: "h", Port: 5432, User: "u", Password: "a+b", Database: "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := dsn.Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			again, err := dsn.Parse(got.URI("/ca.crt"))
			if got.Verifies() {
				if err == nil || !strings.Contains(err.Error(), "sslrootcert") {
					t.Errorf("its URI names no file of CA certificates: %v", err)
				}
				again, err = dsn.Parse(got.URI(""))
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("its URI means something else (-want +got):\n%s", diff)
			}
		})
	}
}

// Proves: R7, R24, FR-075 (messages do not quote the text).
func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                      "neither a URI",
		"canary":                                                "neither a URI",
		"host=h user=u password='canary":                        "neither a URI",
		`host=h user=u password=canary\`:                        "neither a URI",
		"mysql://canary:canary@h/d":                             "scheme",
		"postgresql://u:can@ary/canary@h/d":                     "",
		"postgresql://u:can/ary@h/d":                            "",
		"postgresql://u:can#ary@h/d":                            "",
		"postgresql://u:can%zzary@h/d":                          "not a valid URI",
		"postgresql://u:canary?x=canary@h/d":                    "",
		"postgresql://u:p@canary:canary/d":                      "",
		"postgresql://u:p@h:70000/d":                            "port",
		"postgresql://u:p@h:65536/d":                            "port",
		"postgresql://u:p@h:0/d":                                "port",
		"postgresql://u:p@h/d?=canary":                          "an option without a name",
		"postgresql://u:p@/d":                                   "has no host",
		"postgresql://u:p@%2Frun%2Fcanary/d":                    "",
		"postgresql://u:p@/d?host=/run/canary":                  "Unix socket",
		"host=/run/canary user=u":                               "Unix socket",
		"host=a,b user=u":                                       "several hosts",
		"postgresql://u:p@a:1,b:2/d":                            "",
		"postgresql://h/d":                                      "has no user",
		"postgresql://u:p@h/d?sslmode=canary":                   "sslmode",
		"postgresql://u:p@h/d?sslmode=a&ssl=b":                  "",
		"postgresql://u:p@h/d?sslmode=require&ssl=disable":      "duplicate option",
		"postgresql://u:p@h/d?sslrootcert=canary":               "spec.networking.tls.caBundle",
		"postgresql://u:p@h/d?options=canary&connect_timeout=3": "remove connect_timeout, options",
		"postgresql://u:p@h/d?canary=canary":                    "PostgreSQL does not know",
		"host=h user=u canary=canary":                           "PostgreSQL does not know",
		"host=h user=u user=canary":                             "duplicate option",
		"postgresql://u:p@h/d/canary":                           "'/'",
		"postgresql://u:p@h/d#canary":                           "'#'",
		"postgresql://u:can%00ary@h/d":                          "zero byte",
	} {
		got, err := dsn.Parse(text)
		if err == nil {
			t.Errorf("%q is read as %+v", text, got)
			continue
		}
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%q: %v, want %q in it and nothing of the string", text, err, want)
		}
	}
}

// Proves: R24.
func TestEncodeEscapesSpecialCharacters(t *testing.T) {
	for text, want := range map[string]string{"AZ.az-09_": "AZ.az-09_", "a~b/c@d:e": "a%7Eb%2Fc%40d%3Ae", "é %": "%C3%A9%20%25", "": ""} {
		if got := dsn.Encode(text); got != want {
			t.Errorf("%q is encoded as %q, want %q", text, got, want)
		}
	}
}

// Proves: R7, R24 (no panic, no quotes in errors, and a parsed string keeps its meaning when it is written again).
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"postgresql://user:pass@host:5432/db?sslmode=require", "host=h user=u password='a b' dbname=d", "postgres://u@[::1]/d",
		"postgresql://u:%40@h/d", `host='h' user=\u`, "postgresql:///?host=h&user=u",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := dsn.Parse(text)
		if err != nil {
			// The secret is long enough not to match a message by accident.
			const secret = "4nOtH3r-s3cr3t"
			if _, err := dsn.Parse(text + secret); err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the message quotes the string: %v", err)
			}
			return
		}
		written := d.URI("")
		if _, err := url.Parse(written); err != nil {
			t.Fatalf("the URI is none: %v", err)
		}
		again, err := dsn.Parse(written)
		if err != nil {
			t.Fatalf("%+v is written as something that cannot be read: %v", d, err)
		}
		if diff := cmp.Diff(d, again); diff != "" {
			t.Errorf("written and read again (-want +got):\n%s", diff)
		}
	})
}
