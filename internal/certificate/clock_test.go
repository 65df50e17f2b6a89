// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

type answers func() (*http.Response, error)

func (a answers) RoundTrip(*http.Request) (*http.Response, error) { return a() }

// Proves: L-27 (the time that decides on certificates is that of the API server, which goes on between its answers; until it has answered, and where
// an answer has none, nothing changes).
func TestClockIsThatOfTheAPIServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Clock{}
		if got := c.Now(); !got.Equal(time.Now()) {
			t.Errorf("before any answer it is %s", got)
		}
		there := epoch.Add(365 * day)
		for _, step := range []struct {
			date string
			err  error
			want time.Time
		}{
			{"", nil, time.Now()},
			{there.Format(http.TimeFormat), nil, there},
			{"", nil, there},
			{"yesterday", nil, there},
			{epoch.Format(http.TimeFormat), errors.New("no answer"), there},
			{epoch.Format(http.TimeFormat), nil, epoch},
		} {
			answer, err := c.Wrap(answers(func() (*http.Response, error) {
				if step.err != nil {
					return nil, step.err
				}
				return &http.Response{Header: http.Header{"Date": {step.date}}, Body: http.NoBody}, nil
			})).RoundTrip(nil)
			if !errors.Is(err, step.err) {
				t.Errorf("error %v, want %v", err, step.err)
			}
			if answer != nil {
				_ = answer.Body.Close()
			}
			if got := c.Now(); !got.Equal(step.want) {
				t.Errorf("after %+v it is %s", step, got)
			}
		}
		time.Sleep(time.Hour) //nolint:forbidigo // of the bubble's clock
		if got := c.Since(epoch); got != time.Hour {
			t.Errorf("%s have passed, want one hour", got)
		}
	})
}
