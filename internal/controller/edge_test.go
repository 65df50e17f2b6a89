// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// routes is a mapper of a cluster that gets the API of Routes at some time.
type routes struct {
	meta.RESTMapper
	from time.Time
}

func (m *routes) RESTMapping(kind schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	if kind.Kind == "Route" && !time.Now().Before(m.from) {
		return &meta.RESTMapping{}, nil
	}
	return nil, &meta.NoKindMatchError{GroupKind: kind}
}

// Proves: FR-064 (an API that is installed later is noticed, without a restart of the process).
func TestManagerEndsWhenTheClusterGetsAnotherAPI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		w := &apiWatch{mapper: &routes{from: began.Add(time.Hour)}}
		if err := w.Start(t.Context()); !errors.Is(err, errOtherAPIs) || time.Since(began) > time.Hour+10*time.Minute {
			t.Errorf("%v after %s", err, time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		if err := (&apiWatch{mapper: &routes{from: began}, known: objects.EdgeAPIs{Route: true}}).Start(ctx); err != nil {
			t.Errorf("without a change: %v", err)
		}
	})
}
