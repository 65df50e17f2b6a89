// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// readyPod returns the ready pod of my-stack.
func readyPod() client.Object {
	p := startingPod(corev1.ContainerStatus{Ready: true}).(*corev1.Pod)
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

// Proves: R95 (the user sees the cause, which only the log has, and what to do).
func TestStatusShowsWhyTheServerCannotReadItsStores(t *testing.T) {
	for line, remedy := range map[string]string{
		`asyncpg.exceptions.InvalidPasswordError: password authentication failed for user "llama"`:                                                   "correct user and password",
		`asyncpg.exceptions.InvalidCatalogNameError: database "state" does not exist`:                                                                "create the database",
		`asyncpg.exceptions.InvalidAuthorizationSpecificationError: no pg_hba.conf entry for host "10.0.0.1", user "u", database "d", no encryption`: "demands TLS",
		`ConnectionError: PostgreSQL server at "db:5432" rejected SSL upgrade`:                                                                       "has no TLS",
		`psycopg2.errors.UndefinedObject: type "vector" does not exist`:                                                                              "CREATE EXTENSION vector",
		`OSError: [Errno 111] Connect call failed ('10.0.0.7', 5432)`:                                                                                "does not accept connections. If it is the database",
		`redis.exceptions.AuthenticationError: invalid username-password pair or user is disabled.`:                                                  "correct user and password",
		`socket.gaierror: [Errno -2] Name or service not known`:                                                                                      "has no address",
	} {
		logs := func(_ context.Context, _, _ string, o *corev1.PodLogOptions) (io.ReadCloser, error) {
			if o.Previous || *o.TailLines < 100 {
				t.Errorf("options %+v", o)
			}
			text := "asyncpg.exceptions.TooManyConnectionsError: too many clients already\n" +
				strings.Repeat("  "+line+"  \n │ 7 │ raise AuthenticationError: x\nINFO: GET /v1/health 200\n", 30)
			return io.NopCloser(strings.NewReader(text)), nil
		}
		cr := stack(t, "my-stack", "Available=True ServerAvailable: 1 of 1", "StorageReachable=False StorageUnreachable: The server cannot read its stores x",
			"Ready=False StorageUnreachable: The server cannot read its stores x")
		out, _ := runWithLogs(t, fakecluster.New(t, cr, readyPod()), logs, "my-stack")
		if strings.Count(out, line) != 1 || strings.Contains(out, "/v1/health") || strings.Contains(out, "too many") || !strings.Contains(out, "What to do: ") ||
			!strings.Contains(out, remedy) || !strings.Contains(out, "\nErrors of databases in the log of pod my-stack-abc, container llama-stack\n  "+line+"\n") {
			t.Errorf("%s\nwant %s", out, remedy)
		}
		if !strings.HasPrefix(out, "ai/my-stack: the server runs, but cannot read what it stores\n") {
			t.Errorf("verdict: %s", out)
		}
	}
}

// Proves: R95 (a server that ends because of its database gets the same advice).
func TestStatusShowsWhyTheServerEndedAtItsDatabase(t *testing.T) {
	for line, remedy := range map[string]string{
		`asyncpg.exceptions.InvalidCatalogNameError: database "state" does not exist`:                                  "create the database, or correct its name",
		`asyncpg.exceptions.FeatureNotSupportedError: extension "vector" is not available`:                             "CREATE EXTENSION vector",
		`RuntimeError: Failed to create vector extension for PGVector: permission denied to create extension "vector"`: "CREATE EXTENSION vector",
	} {
		logs := func(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("connecting\n" + line + "\n")), nil
		}
		cr := stack(t, "my-stack", "DeploymentUpdated=False RolloutInProgress: 0 of 1 pods are available: the server ended with exit code 1",
			"Ready=False RolloutInProgress: x")
		out, _ := runWithLogs(t, fakecluster.New(t, cr, startingPod(crashing(1, "Error"))), logs, "my-stack")
		if _, text, found := strings.Cut(out, "  What to do: "); !found || !strings.Contains(text, remedy) {
			t.Errorf("%s\n%s", line, out)
		}
	}
}

// Proves: R95 (an error of another client is not taken for one of a database).
func TestStatusDoesNotTakeOtherErrorsForThoseOfDatabases(t *testing.T) {
	logs := func(context.Context, string, string, *corev1.PodLogOptions) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("urllib3.exceptions.NameResolutionError: HTTPSConnection(host='x'): [Errno -2] Name or service not known\n" +
			"ConnectionRefusedError: [Errno 111] Connect call failed ('10.0.0.9', 8000)\n")), nil
	}
	cr := stack(t, "my-stack", "DeploymentUpdated=False RolloutInProgress: 0 of 1 pods are available: the server ended with exit code 1",
		"Ready=False RolloutInProgress: x")
	out, _ := runWithLogs(t, fakecluster.New(t, cr, startingPod(crashing(1, "Error"))), logs, "my-stack")
	if strings.Contains(out, "database") {
		t.Error(out)
	}
}

// An unknown state of the stores is not a cause.
func TestStatusHidesUnknownStateOfStores(t *testing.T) {
	cr := stack(t, "my-stack", "Available=True ServerAvailable: 1 of 1", "StorageReachable=Unknown StorageUnknown: x", "Ready=True Ready: The spec is applied")
	out, _ := runWithLogs(t, fakecluster.New(t, cr, readyPod()), noLog, "my-stack")
	if strings.Contains(out, "StorageReachable") {
		t.Error(out)
	}
}
