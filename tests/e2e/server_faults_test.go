// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// rolledBack bounds the wait for the former pod, which starts after two minutes.
const rolledBack = 6 * time.Minute

// serverFault is a fault of a server, which has a PVC or not.
type serverFault struct {
	name   string
	volume bool
	// patch is a merge patch of the spec, which the repair takes back; else do injects the fault, and undo repairs it.
	patch    string
	do, undo func(*testing.T, stack)
	// condition, status and text are what the custom resource says of it; an empty condition means the answer of kubectl.
	condition, status, text string
	// lossless faults lose no request, and after returning faults the former pod returns.
	lossless, returning bool
}

func kubectl(format string, args ...any) func(*testing.T, stack) {
	return func(t *testing.T, s stack) {
		t.Helper()
		s.in(t).Kubectl(strings.Fields(fmt.Sprintf(format, args...))...)
	}
}

const (
	wrongImage   = `{"distribution":{"name":null,"image":"registry.example.com/team/starter:typo","version":"0.7.1"},"providers":null,"resources":null}`
	wrongCommand = `{"workload":{"overrides":{"command":["no-such-program"]}}}`
	smallMemory  = `{"workload":{"resources":{"requests":{"memory":"48Mi"},"limits":{"memory":"48Mi"}}}}`
	noNode       = `{"workload":{"scheduling":{"nodeSelector":{"disk":"fast"}}}}`
	wrongOption  = `{"workload":{"overrides":{"args":["--no-such-option"]}}}`
)

var serverFaults = []serverFault{
	{name: "image that does not exist", patch: wrongImage, condition: "DeploymentUpdated", status: "False", text: "ImagePullBackOff", lossless: true},
	{name: "image that does not exist", volume: true, patch: wrongImage, condition: "DeploymentUpdated", status: "False", text: "ImagePullBackOff", returning: true},
	{name: "command that does not exist", patch: wrongCommand, condition: "DeploymentUpdated", status: "False", text: "executable file not found", lossless: true},
	{name: "command that does not exist", volume: true, patch: wrongCommand, condition: "DeploymentUpdated", status: "False", text: "executable file not found", returning: true},
	{name: "memory limit too small", patch: smallMemory, condition: "DeploymentUpdated", status: "False", text: "memory limit of 48Mi", lossless: true},
	{name: "memory limit too small", volume: true, patch: smallMemory, condition: "DeploymentUpdated", status: "False", text: "memory limit of 48Mi", returning: true},
	{name: "no node fits", patch: noNode, condition: "DeploymentUpdated", status: "False", text: "Unschedulable", lossless: true},
	{name: "no node fits", volume: true, patch: noNode, condition: "DeploymentUpdated", status: "False", text: "Unschedulable", returning: true},
	{name: "option that the server does not know", patch: wrongOption, condition: "DeploymentUpdated", status: "False", text: "exit code", lossless: true},
	{name: "option that the server does not know", volume: true, patch: wrongOption, condition: "DeploymentUpdated", status: "False", text: "exit code", returning: true},
	{
		name: "Secret of a variable that does not exist", volume: true, patch: `{"workload":{"overrides":{"envFrom":[{"secretRef":{"name":"typo"}}]}}}`,
		condition: "SecretsResolved", status: "False", text: "typo", lossless: true,
	},
	{name: "Secret of the spec is deleted", do: kubectl("delete secret %s", sampleSecret), undo: func(t *testing.T, s stack) { s.prepare(t, sampleModel) },
		condition: "SecretsResolved", status: "False", text: sampleSecret, lossless: true},
	{name: "model of a provider that does not exist", do: func(t *testing.T, s stack) {
		t.Helper()
		out, err := s.in(t).TryKubectl("", "patch", "llsd", s.name, "--type=merge", "-p", `{"spec":{"resources":{"models":[{"name":"a","provider":"vlm"}]}}}`)
		if err == nil || !strings.Contains(out+err.Error(), "vlm") {
			t.Errorf("kubectl answers: %s %v", out, err)
		}
	}, lossless: true},
	{name: "model server is down", do: kubectl("scale deployment/%s --replicas=0", sampleServer), undo: kubectl("scale deployment/%s --replicas=1", sampleServer), lossless: true},
	{name: "server process ends", do: endServer},
	{name: "pod is deleted", do: kubectl("delete pod -l app.kubernetes.io/instance=%s", sampleName)},
	{name: "Service is deleted", do: kubectl("delete service %s-service", sampleName)},
	{name: "Deployment is deleted", do: kubectl("delete deployment %s --wait=false", sampleName)},
	{name: "Deployment is edited: kubectl set image", do: kubectl("set image deployment/%s llama-stack=registry.example.com/other:1", sampleName), lossless: true},
	{
		name: "Deployment is edited: kubectl rollout undo", do: kubectl("rollout undo deployment/%s", sampleName),
		condition: "DeploymentUpdated", status: "False", text: "kubectl rollout undo", lossless: true,
	},
	{name: "Deployment is scaled: kubectl scale", do: kubectl("scale deployment/%s --replicas=3", sampleName), lossless: true},
}

// endServer ends the server process, which is the first one of its container, and waits until it is started again.
func endServer(t *testing.T, s stack) {
	t.Helper()
	s.in(t).Kubectl("exec", "deployment/"+s.name, "--", "python3", "-c", "import os; os.kill(1, 15)")
	framework.Eventually(t, soon, "the server process is started again", func() error {
		if c := s.pod(t).Status.ContainerStatuses; len(c) == 0 || c[0].RestartCount == 0 {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
}

// databaseFaults are the faults of a server that keeps all state in a PostgreSQL.
func databaseFaults(t *testing.T, s stack, database *framework.Postgres, password string) []serverFault {
	t.Helper()
	dsn := func(user, name string) func(*testing.T, stack) {
		return func(t *testing.T, s stack) {
			t.Helper()
			s.in(t).Put(&corev1.Secret{ObjectMeta: s.in(t).Meta("pg-creds"), Data: map[string][]byte{
				"dsn": []byte(database.DSN(user, password, name, "sslmode=disable")),
			}})
		}
	}
	right := dsn("stack", "stack")
	right(t, s)
	// Release line 0.7 connects when it starts.
	refused := serverFault{condition: "DeploymentUpdated", status: "False", text: "Could not connect", undo: right, lossless: true}
	wrongUser, missing := refused, refused
	stopped := serverFault{condition: "StorageReachable", status: "False", text: "spec.storage"}
	wrongUser.name, wrongUser.do = "PostgreSQL refuses the user", dsn("nobody", "stack")
	missing.name, missing.do = "database does not exist", dsn("stack", "missing")
	stopped.name, stopped.do = "PostgreSQL stops, and starts again", func(t *testing.T, _ stack) { t.Helper(); database.Stop() }
	stopped.undo = func(t *testing.T, s stack) {
		t.Helper()
		database.Start()
		s.in(t).Kubectl("rollout", "restart", "deployment/"+s.name)
	}
	const other = "other"
	shared := serverFault{name: "two servers with one database", condition: "ConfigGenerated", status: "True", text: other, lossless: true}
	shared.do = func(t *testing.T, s stack) {
		t.Helper()
		s.in(t).Apply(asJSON(t, onPostgres(t, other).Object))
	}
	shared.undo = kubectl("delete llsd %s", other)
	return []serverFault{wrongUser, missing, stopped, shared}
}

// onPostgres returns a custom resource with all state in PostgreSQL, and small requests for a node with other servers.
func onPostgres(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	resource := load(t, "config", "samples", "v1alpha2-one-postgres.yaml")
	resource.SetName(name)
	framework.NoError(t, unstructured.SetNestedField(resource.Object, "100m", "spec", "workload", "resources", "requests", "cpu"))
	return resource
}

// TestServerFaults takes half an hour: "make test-server-faults" runs it. It prints the table of docs/reliability.md.
//
// Proves: R19, R94, R95 (on a node: what becomes of the running server, what the status says, and how soon).
func TestServerFaults(t *testing.T) {
	if os.Getenv("LLSD_CHAOS") != "full" {
		t.Skip("only with LLSD_CHAOS=full: it takes half an hour")
	}
	use(t, &pinned)
	plain := sampleStack(t)
	kept := stack{"e2e-volume", sampleName}
	kept.prepare(t, sampleModel)
	withVolume := load(t, "config", "samples", "v1alpha2-simple.yaml")
	framework.NoError(t, unstructured.SetNestedMap(withVolume.Object, map[string]any{}, "spec", "workload", "storage"))
	kept.in(t).Apply(asJSON(t, withVolume.Object))
	kept.waitReady(t)
	kept.chats(t, sampleServer, sampleServer, sampleModel)
	measure := func(f *serverFault, s stack, name string) {
		t.Run(name, func(t *testing.T) {
			begin(t, "", name)
			f.measure(t, s, name)
		})
	}
	for i := range serverFaults {
		if f := &serverFaults[i]; f.volume {
			measure(f, kept, f.name+", with a PVC")
		} else {
			measure(f, plain, f.name)
		}
	}

	stored, password := stack{"e2e-database", sampleName}, newKey()
	stored.prepare(t, sampleModel)
	database := framework.StartPostgres(t, cluster.HostAddress)
	database.Account(t, "stack", password, "stack")
	faults := databaseFaults(t, stored, database, password)
	stored.in(t).Apply(asJSON(t, onPostgres(t, sampleName).Object))
	stored.waitReady(t)
	for i := range faults {
		measure(&faults[i], stored, faults[i].name)
	}
}

// repair takes the fault back.
func (f *serverFault) repair(t *testing.T, s stack, before v1alpha2.LlamaStackDistributionSpec) {
	t.Helper()
	switch {
	case f.undo != nil:
		f.undo(t, s)
	case f.do == nil:
		s.in(t).Kubectl("patch", "llsd", s.name, "--type=json", "-p", `[{"op":"replace","path":"/spec","value":`+asJSON(t, before)+`}]`)
	}
}

func (f *serverFault) measure(t *testing.T, s stack, name string) {
	t.Helper()
	before := s.in(t).CR(s.name).Spec
	asked, began := startTraffic(t, s.url(t)), time.Now()
	since := func() string { return fmt.Sprintf("%.0f s", time.Since(began).Seconds()) }
	if f.do != nil {
		f.do(t, s)
	} else {
		s.in(t).Kubectl("patch", "llsd", s.name, "--type=merge", "-p", `{"spec":`+f.patch+`}`)
	}
	defer func() {
		if t.Failed() {
			f.repair(t, s, before)
		}
	}()
	told, message := "", ""
	if f.condition != "" {
		framework.Eventually(t, serverStart, "the status tells the fault", func() error {
			for _, c := range s.in(t).CR(s.name).Status.Conditions {
				if c.Type == f.condition && string(c.Status) == f.status && strings.Contains(c.Message, f.text) {
					told, message = since(), c.Type+" "+c.Reason+": "+c.Message
					return nil
				}
			}
			return fmt.Errorf("%s", conditions(s.in(t).CR(s.name)))
		})
	}
	if f.returning {
		framework.Eventually(t, rolledBack, "the former pod is back", func() error {
			cr := s.in(t).CR(s.name)
			for _, c := range cr.Status.Conditions {
				if c.Type == "DeploymentUpdated" && c.Reason == "RolledBack" && cr.Status.AvailableReplicas == 1 {
					message = c.Type + " " + c.Reason + ": " + c.Message
					return health(t.Context(), web, s.url(t))
				}
			}
			return fmt.Errorf("%s", conditions(cr))
		})
	}
	back := since()
	f.repair(t, s, before)
	s.waitReady(t, func() { s.hurryEnding(t) })
	if !f.returning {
		back = since()
	}
	o := asked.end()
	if f.lossless && o.lost > 0 {
		t.Errorf("%s; the first: %v", o, o.first)
	}
	if f.volume {
		status, answer, err := tryCall(t, http.MethodGet, s.url(t)+"/v1/chat/completions", nil)
		if err != nil || status != http.StatusOK || !strings.Contains(string(answer), `"chat.completion"`) {
			t.Errorf("the stored completion is lost: status %d, %v: %s", status, err, answer)
		}
	}
	did(t, "| %s | %d of %d requests lost, longest gap %.0f s | %s | %s | %s |", name, o.lost, o.sent, o.gap.Seconds(), message, told, back)
}
