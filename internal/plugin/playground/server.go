// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"golang.org/x/net/netutil"
)

const (
	readTimeout    = 10 * time.Second
	writeTimeout   = 2 * time.Minute
	idleTimeout    = time.Minute
	shutdownDelay  = 2 * time.Second
	maxHeaderBytes = 16 << 10
	maxConnections = 64
)

// policy restricts the page to its own files and WebAssembly.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; " +
	"connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// types are the media types, which must not depend on the system.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".wasm": "application/wasm", ".br": "application/octet-stream",
}

func serve(ctx context.Context, listener net.Listener, page fs.FS) error {
	server := &http.Server{
		Handler: handler(page), ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeaderBytes,
		ErrorLog:       log.New(io.Discard, "", 0), // errors of browsers are not shown
	}
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownDelay)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close()
		}
	})
	defer stop()
	if err := server.Serve(netutil.LimitListener(listener, maxConnections)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func handler(page fs.FS) http.Handler {
	content := http.FileServerFS(page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
			return
		}
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Opener-Policy", "same-origin")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-cache")
		kind, known := types[path.Ext(r.URL.Path)]
		if path.Ext(r.URL.Path) == ".br" {
			header.Set("Vary", "Accept-Encoding")
			if acceptsBrotli(r) { // faster than decompressing in the page by about half a second
				header.Set("Content-Encoding", "br")
				kind = types[path.Ext(strings.TrimSuffix(r.URL.Path, ".br"))]
			}
		}
		if known {
			header.Set("Content-Type", kind)
		}
		content.ServeHTTP(w, r)
	})
}

func acceptsBrotli(r *http.Request) bool {
	for encoding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		if strings.TrimSpace(encoding) == "br" {
			return true
		}
	}
	return false
}
