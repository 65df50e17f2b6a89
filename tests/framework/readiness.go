// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// ProbeReadiness returns an error with the answer if the operator with the health endpoint HOST:PORT is not ready.
func ProbeReadiness(address string) error {
	asker := &http.Client{Timeout: 10 * time.Second}
	answer, err := asker.Get("http://" + address + "/readyz?verbose")
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
