// SPDX-License-Identifier: Apache-2.0

package serverprobe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// storeTimeout bounds one read of a store. A server tries for several seconds to reach a database that is away.
const storeTimeout = 20 * time.Second

// StoreResult is the result of a request that reads a store.
type StoreResult string

// The results of reading a store.
const (
	// StoreRead means that the server read the store, also if the entry does not exist.
	StoreRead StoreResult = "read"
	// StoreFailed means that the server reports an error of its own, or does not respond.
	StoreFailed StoreResult = "failed"
	// StoreHidden means that the server requires credentials.
	StoreHidden StoreResult = "hidden"
	// StoreUnknown means that the request says nothing of the store, such as one that no connection was made for.
	StoreUnknown StoreResult = "unknown"
)

// statusError is the status code of a response that is not OK.
type statusError int

func (e statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the server responds with %d %s", int(e), http.StatusText(int(e))))
}

// Stores reads the stores of a server, without the bodies of the responses. It fails if the server does not report its
// version.
func (c *Client) Stores(ctx context.Context, server Server) (map[string]StoreResult, error) {
	at, err := c.target(server)
	if err != nil {
		return nil, err
	}
	err = c.get(ctx, at, versionPath, func(body []byte) error {
		_, err := readVersion(body)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.stores(ctx, at, server.Stores), nil
}

// stores reads one store after the other, because a server that logs a failure can be busy with it for seconds.
func (c *Client) stores(ctx context.Context, at *target, paths map[string]string) map[string]StoreResult {
	if len(paths) == 0 {
		return nil
	}
	patient := *at
	patient.timeout = storeTimeout
	results := make(map[string]StoreResult, len(paths))
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		results[name] = storeResult(c.get(ctx, &patient, paths[name], nil))
	}
	return results
}

// storeResult explains the error of a request that reads a store.
func storeResult(err error) StoreResult {
	var code statusError
	switch {
	case err == nil:
		return StoreRead
	case errors.Is(err, errUnauthorized):
		return StoreHidden
	case errors.Is(err, errTimeout):
		return StoreFailed
	case !errors.As(err, &code):
		return StoreUnknown
	case code >= http.StatusInternalServerError:
		return StoreFailed
	case code == http.StatusNotFound, code == http.StatusBadRequest:
		return StoreRead
	}
	return StoreUnknown
}
