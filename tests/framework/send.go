// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Send sends a request and returns the status and the body of the answer. header has names and values in turn. Without
// a Content-Type among them, the body is JSON.
func Send(ctx context.Context, by *http.Client, method, url, body string, header ...string) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := by.Do(request)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, errors.Join(err, response.Body.Close())
}

// Probe returns an error with the answer unless the URL answers with status 200.
func Probe(url string) error {
	status, answer, err := Send(context.Background(), &http.Client{Timeout: 10 * time.Second}, http.MethodGet, url, "")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d: %s", status, answer)
	}
	return err
}
