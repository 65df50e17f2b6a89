// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Probe returns an error with the answer unless the URL answers with status 200.
func Probe(url string) error {
	web := &http.Client{Timeout: 10 * time.Second}
	answer, err := web.Get(url)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", answer.Status, text)
	}
	return nil
}
