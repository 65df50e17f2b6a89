// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// Proves: R95 (a server that fails requests for its database is not Ready, until it answers them).
func TestServerWithoutItsDatabaseIsNotReady(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	var code, credentials atomic.Int32
	code.Store(http.StatusBadGateway)
	answer := e.Server.Config.Handler
	e.Server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" {
			answer.ServeHTTP(w, r)
			return
		}
		if r.Header.Get("Authorization") != "" {
			credentials.Add(1)
		}
		w.WriteHeader(int(code.Load()))
	})
	e.StartOperator()
	e.CreateSecret("pg", map[string]string{"dsn": "postgresql://llama:secret@db:5432/state"})
	e.Apply(framework.Manifest("s", "distribution: {name: starter}\nstorage: {sql: {type: postgres, connectionString: {name: pg, key: dsn}}}"))
	const unreachable = v1alpha2.ReasonStorageUnreachable
	message := e.WaitCondition("s", v1alpha2.ConditionStorageReachable, metav1.ConditionFalse, unreachable)
	for _, part := range []string{"conversations", "inference", "PostgreSQL", "spec.storage.sql", "sql_default"} {
		if !strings.Contains(message, part) {
			t.Errorf("%q lacks %s", message, part)
		}
	}
	e.WaitCondition("s", v1alpha2.ConditionReady, metav1.ConditionFalse, unreachable)
	e.WaitCondition("s", v1alpha2.ConditionAvailable, metav1.ConditionTrue, v1alpha2.ReasonServerAvailable)
	code.Store(http.StatusOK)
	e.WaitCondition("s", v1alpha2.ConditionStorageReachable, metav1.ConditionTrue, v1alpha2.ReasonStorageReachable)
	e.WaitReady("s")
	if n := credentials.Load(); n != 0 {
		t.Errorf("%d requests with credentials", n)
	}
}
