// SPDX-License-Identifier: Apache-2.0

package logging_test

import (
	"bytes"
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/llamastack/llama-stack-k8s-operator/internal/manager/logging"
)

const canary = "canary-7f3a"

// logger returns the logger for these flags.
func logger(t *testing.T, out *bytes.Buffer, args ...string) logr.Logger {
	t.Helper()
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	o := &logging.Options{}
	o.BindFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o.Logger(out)
}

// Proves: R7 (client-go logs bodies of Secrets from level 8 on; the first case shows that the test detects them).
func TestNoAcceptedLevelLogsBodies(t *testing.T) {
	for level, args := range map[string][]string{
		"without a limit": nil,
		"7":               {"--zap-log-level=7"},
		"8":               {"--zap-log-level=8"},
		"10, in console":  {"--zap-log-level=10", "--zap-encoder=console"},
		"127":             {"--zap-log-level=127"},
		"129":             {"--zap-log-level=129"},
		"development":     {"--zap-devel", "--zap-log-level=99"},
		"the last counts": {"--zap-log-level=info", "--zap-log-level=64"},
	} {
		t.Run(level, func(t *testing.T) {
			var out bytes.Buffer
			var log logr.Logger
			if unlimited := len(args) == 0; unlimited {
				var options zap.Options
				flags := flag.NewFlagSet("manager", flag.ContinueOnError)
				options.BindFlags(flags)
				if err := flags.Set("zap-log-level", "8"); err != nil {
					t.Fatal(err)
				}
				log = zap.New(zap.UseFlagOptions(&options), zap.WriteTo(&out))
			} else {
				log = logger(t, &out, args...)
			}
			writeSecret(ctrl.LoggerInto(t.Context(), log), t)
			if leaks := strings.Contains(out.String(), canary); leaks != (len(args) == 0) {
				t.Errorf("the value of the Secret is in the log: %t\n%s", leaks, &out)
			}
			log.V(logging.MaxVerbosity).Info("details")
			if !strings.Contains(out.String(), "details") {
				t.Errorf("verbosity %d logs nothing:\n%s", logging.MaxVerbosity, &out)
			}
		})
	}
}

// writeSecret sends a Secret with the canary to an API server that returns it.
func writeSecret(ctx context.Context, t *testing.T) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"creds"},"stringData":{"token":"` + canary + `"}}`))
	}))
	defer server.Close()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
	c, err := client.New(&rest.Config{Host: server.URL}, client.Options{Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	err = c.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "creds"}, StringData: map[string]string{"token": canary},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Proves: R7.
func TestLoweredLevelIsReported(t *testing.T) {
	for level, lowered := range map[string]bool{"info": false, "debug": false, "error": false, "7": false, "8": true, "200": true} {
		var out bytes.Buffer
		logger(t, &out, "--zap-log-level="+level)
		if got := strings.Contains(out.String(), `"requested":`+level); got != lowered {
			t.Errorf("level %s: the log reports a lowered level: %t, want %t: %s", level, got, lowered, &out)
		}
	}
}

func TestInvalidLevelIsRejected(t *testing.T) {
	for _, level := range []string{"", "loud", "0", "-8", "99999999999999999999"} {
		flags := flag.NewFlagSet("manager", flag.ContinueOnError)
		flags.SetOutput(&bytes.Buffer{})
		new(logging.Options).BindFlags(flags)
		if err := flags.Parse([]string{"--zap-log-level=" + level}); err == nil {
			t.Errorf("level %q is accepted", level)
		}
	}
}
