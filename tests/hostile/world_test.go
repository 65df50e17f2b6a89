// SPDX-License-Identifier: Apache-2.0

//go:build linux

package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// answerWithin bounds the time until the result of an input.
	answerWithin = 3 * time.Minute
	// maxAnswer bounds an answer: 50 problems of 1 KiB each, and the text around them.
	maxAnswer = 64 << 10
)

type world struct {
	admin    client.WithWatch
	http     *http.Client
	host     string
	operator *operator
	report   *report
	canaries framework.Canaries
	// peak is the operator's peak memory between the inputs, in bytes.
	peak int64
}

func newWorld(t *testing.T) *world {
	t.Helper()
	config, err := cluster.AdminConfig()
	framework.NoError(t, err)
	config.WarningHandler = rest.NoWarnings{}
	scheme := runtime.NewScheme()
	framework.NoError(t, errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha2.AddToScheme(scheme)))
	w := &world{host: config.Host, report: &report{}}
	w.admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	framework.NoError(t, err)
	w.http, err = rest.HTTPClientFor(config)
	framework.NoError(t, err)
	return w
}

func (w *world) namespace(t *testing.T, name string) {
	t.Helper()
	w.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func (w *world) create(t *testing.T, o client.Object) {
	t.Helper()
	framework.NoError(t, w.admin.Create(t.Context(), o))
}

func (w *world) in(t *testing.T, namespace string) *framework.Namespace {
	t.Helper()
	return &framework.Namespace{T: t, Cluster: cluster, Client: w.admin, Name: namespace}
}

// ask sends a raw request to the API server, without a client that encodes or decodes the body.
func (w *world) ask(ctx context.Context, method, path string, body []byte) (int, []byte, error) {
	var header []string
	if method == http.MethodPatch {
		header = []string{"Content-Type", "application/merge-patch+json"}
	}
	return framework.Send(ctx, w.http, method, w.host+path, string(body), header...)
}

func resourcePath(version, namespace, name string) string {
	return "/apis/llamastack.io/" + version + "/namespaces/" + namespace + "/llamastackdistributions/" + name
}

func denial(code int, answer []byte) string {
	var status metav1.Status
	text := string(answer)
	if json.Unmarshal(answer, &status) == nil && status.Message != "" {
		text = status.Message
	}
	return fmt.Sprintf("denied %d: %s", code, text)
}

// observed is the operator's status of a resource, decoded alone because the spec may exceed a decoder's limits.
type observed struct {
	generation int64
	status     v1alpha2.LlamaStackDistributionStatus
	bytes      int
}

var generationField = regexp.MustCompile(`"generation":(\d+)`)

func (w *world) observe(ctx context.Context, namespace, name string) (*observed, error) {
	code, answer, err := w.ask(ctx, http.MethodGet, resourcePath("v1alpha2", namespace, name), nil)
	if err != nil {
		return nil, err
	}
	if code != http.StatusOK {
		return nil, errors.New(denial(code, answer))
	}
	o := &observed{}
	if found := generationField.FindSubmatch(answer); found != nil {
		if o.generation, err = strconv.ParseInt(string(found[1]), 10, 64); err != nil {
			return nil, err
		}
	}
	at := bytes.LastIndex(answer, []byte(`"status":{`)) // status is the last field of the object
	if at < 0 {
		return o, nil
	}
	text := bytes.TrimSuffix(bytes.TrimSpace(answer[at+len(`"status":`):]), []byte("}"))
	o.bytes = len(text)
	return o, json.Unmarshal(text, &o.status)
}

// verdict waits until the operator has validated the current resource, and the most specific condition has the texts,
// because changes of dependencies may reach the operator later. It returns the last condition.
func (w *world) verdict(ctx context.Context, namespace, name string, want ...string) (string, error) {
	var said string
	var unwanted bool
	err := framework.Poll(ctx, answerWithin, func() error {
		if w.operator.ended() {
			return nil // the caller gets the error
		}
		o, err := w.observe(ctx, namespace, name)
		if err != nil {
			return err
		}
		byType := map[string]metav1.Condition{}
		for _, c := range o.status.Conditions {
			byType[c.Type] = c
		}
		ready, ok := byType[v1alpha2.ConditionReady]
		if !ok || ready.ObservedGeneration != o.generation {
			return fmt.Errorf("no condition for generation %d: %+v", o.generation, o.status)
		}
		best := ready
		for _, kind := range []string{v1alpha2.ConditionConfigGenerated, v1alpha2.ConditionSecretsResolved, v1alpha2.ConditionDeploymentUpdated} {
			if c, ok := byType[kind]; ok && c.Status != metav1.ConditionTrue {
				best = c
				break
			}
		}
		said = fmt.Sprintf("%s=%s %s: %s", best.Type, best.Status, best.Reason, best.Message)
		if unwanted = !mentions(said, want); unwanted {
			return fmt.Errorf("not the wanted answer: %.300s", said)
		}
		return nil
	})
	if err == nil || unwanted {
		err = w.operator.alive()
	}
	return said, err
}

// send stores a resource until the test ends, and returns the denial or the operator's verdict.
func (w *world) send(t *testing.T, version, namespace, name string, body []byte, want ...string) (string, error) {
	t.Helper()
	if denied, err := w.store(t, version, namespace, name, body); denied != "" || err != nil {
		return denied, err
	}
	return w.verdict(t.Context(), namespace, name, want...)
}

func (w *world) mustStore(t *testing.T, namespace, name, spec string) {
	t.Helper()
	if denied, err := w.store(t, "v1alpha2", namespace, name, resource("v1alpha2", name, spec)); denied != "" || err != nil {
		t.Fatal(denied, err)
	}
}

func (w *world) store(t *testing.T, version, namespace, name string, body []byte) (denied string, err error) {
	t.Helper()
	code, answer, err := w.ask(t.Context(), http.MethodPost, strings.TrimSuffix(resourcePath(version, namespace, ""), "/"), body)
	if err != nil {
		return "", err
	}
	if code != http.StatusCreated {
		return denial(code, answer), nil
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
		defer cancel()
		code, answer, err := w.ask(ctx, http.MethodDelete, resourcePath("v1alpha2", namespace, name), nil)
		if err != nil || code != http.StatusOK {
			t.Errorf("delete: %d %.300s %v", code, answer, err)
		}
	})
	return "", nil
}

const settingsName = "llama-stack-operator-config"

// awaitReason waits until a condition of a resource has a reason, and returns the condition.
func (w *world) awaitReason(ctx context.Context, namespace, name, reason string) (string, error) {
	var text string
	err := framework.Poll(ctx, 2*time.Minute, func() error {
		if err := w.operator.alive(); err != nil {
			return nil //nolint:nilerr // the caller checks it, too
		}
		o, err := w.observe(ctx, namespace, name)
		if err != nil {
			return err
		}
		for _, c := range o.status.Conditions {
			if c.Reason == reason {
				text = fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
				return nil
			}
		}
		return fmt.Errorf("no condition has the reason %s: %+v", reason, o.status.Conditions)
	})
	return text, err
}
