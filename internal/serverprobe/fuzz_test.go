// SPDX-License-Identifier: Apache-2.0

package serverprobe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R63 (no panic, no server text in an error, and no body over the limit).
func FuzzReceive(f *testing.F) {
	for _, seed := range []string{
		body(`{"version":"0.7.1"}`), "HTTP/1.1 500 x\r\n\r\n", "HTTP/1.1 401 x\r\nConnection: close\r\n\r\n", "HTTP/1.0 200 OK\n\n{}", "SSH-2.0-x\r\n", "",
		ok + "Transfer-Encoding: chunked\r\nTrailer: A\r\n\r\n2;x=y\r\n{}\r\n0\r\nA: b\r\n\r\n", ok + "Content-Length: 9\r\n\r\n{}",
		"HTTP/1.1 100 Continue\r\n\r\n" + body("{}"), "HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\n{}", ok + "\r\n" + strings.Repeat("{", smallBody),
	} {
		f.Add([]byte(seed))
	}
	fixed := []error{errUnauthorized, errNotHTTP, errHeader, errBody, errTruncated, errNotJSON}
	f.Fuzz(func(t *testing.T, sent []byte) {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://10.0.0.1:8321/v1/version", http.NoBody)
		framework.NoError(t, err)
		client := New()
		from := &stream{Reader: bytes.NewReader(sent), deadline: func(time.Time) error { return nil }, slots: client.slots(Server{})}
		err = client.receive(t.Context(), from, request, func(body []byte) error {
			if len(body) > maxBody || len(body) > len(sent) {
				t.Errorf("a body of %d bytes of %d", len(body), len(sent))
			}
			return nil
		})
		if err == nil || slices.ContainsFunc(fixed, func(e error) bool { return errors.Is(err, e) }) {
			return
		}
		code, text, _ := strings.Cut(strings.TrimPrefix(err.Error(), "the server responds with "), " ")
		if len(code) > 3 || strings.Trim(code, "0123456789") != "" || len(text) > 40 {
			t.Errorf("error %q", err)
		}
	})
}

// Proves: R29, R63 (results are bounded, printable and sorted, with each API and id once).
func FuzzAnswers(f *testing.F) {
	for _, seed := range []string{
		`{"version":"0.7.1"}`, `{"data":[` + entry("inference", "vllm", "remote::vllm") + `,` + entry("inference", "vllm", "x") + `]}`, `{"data":null}`,
		`{"data":[{"id":"a"},{"id":"a"},{"identifier":"b","provider_id":"p"},{"connector_id":"c"},{}],"has_more":true}`,
		`{"data":[{"api":"a","provider_id":"\ud800","provider_type":"\u0000"}]}`, `{"DATA":[{"API":"a"}],"data":[null]}`, `[]`, `{"version":1}`,
		strings.Repeat(`{"data":[`, 50), `{"data":[` + strings.Repeat("{},", 100) + `{}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		version, err := readVersion(answer)
		if err == nil && (version == "" || len(version) > 64 || strings.ContainsFunc(version, func(r rune) bool { return r <= ' ' || r > '~' })) {
			t.Errorf("version %q", version)
		}
		list, leftOut, err := readProviders(answer)
		if err != nil && (!errors.Is(err, errNotJSON) || list != nil) {
			t.Errorf("%v with %d providers", err, len(list))
		}
		kept := 0
		for i, p := range list {
			for _, text := range []string{p.API, p.ID, p.Type} {
				kept += len(text)
				if text == "" || len(text) > maxName || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\t\x00\x1b\u2028") {
					t.Errorf("kept %q", text)
				}
			}
			if i > 0 && cmp.Or(strings.Compare(list[i-1].API, p.API), strings.Compare(list[i-1].ID, p.ID)) >= 0 {
				t.Errorf("%+v after %+v", p, list[i-1])
			}
		}
		checkLists(t, answer)
		if kept > maxListBytes || len(list) > maxProviders || leftOut < 0 {
			t.Errorf("kept %d bytes of %d providers, left out %d", kept, len(list), leftOut)
		}
	})
}

// checkLists decodes a response as each of the other lists.
func checkLists(t *testing.T, answer []byte) {
	t.Helper()
	for most, read := range map[int]func([]byte) (List, error){maxListBytes: readModels, maxOtherListBytes: readList} {
		list, err := read(answer)
		if err != nil && (!errors.Is(err, errNotJSON) || list.Entries != nil) {
			t.Errorf("%v with %d entries", err, len(list.Entries))
		}
		kept, known := 0, map[string]bool{}
		for _, e := range list.Entries {
			if kept += len(e.Name) + len(e.Provider); !isName(e.Name) || e.Provider != "" && !isName(e.Provider) || known[e.Name] {
				t.Errorf("kept %+v", e)
			}
			known[e.Name] = true
		}
		if kept > most || len(list.Entries) > maxProviders {
			t.Errorf("kept %d bytes of %d entries", kept, len(list.Entries))
		}
	}
}
