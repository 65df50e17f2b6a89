// SPDX-License-Identifier: Apache-2.0

package upgradecheck

import (
	"bytes"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cli"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/tests/fakecluster"
)

// The printed command has the connection flags of this one, without credentials.
func TestUpgradeCheckOfANamePrintsACommandForThatCluster(t *testing.T) {
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: "ai", Name: "my-stack", UID: "u1"}}
	if err := yaml.Unmarshal([]byte("distribution: {name: starter}\nproviders: {inference: {provider: vllm, endpoint: 'http://vllm:8000'}}"), &cr.Spec); err != nil {
		t.Fatal(err)
	}
	cr.Status.ResolvedDistribution = &v1alpha2.ResolvedDistributionStatus{ServerLine: "1.2"}
	var out bytes.Buffer
	streams := cli.Streams{Out: &out, Err: &out}
	cmd := New(streams, func(*cluster.Flags) (*cluster.Connection, error) {
		return &cluster.Connection{Client: fakecluster.New(t, cr), Namespace: "ai"}, nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"my-stack", "--to", "1.4", "-n", "ai", "--context", "prod", "--token", "secret-token"})
	code := cli.Finish(cmd.ExecuteContext(t.Context()), streams, "")
	const want = "\n  kubectl get llsd my-stack --context=prod --namespace=ai -o yaml | kubectl llamastack render -f - -o config --server-version 1.4\n"
	if code != cli.ExitOK || !strings.HasPrefix(out.String(), "my-stack 1.2 → 1.4: ") || !strings.Contains(out.String(), want) || strings.Contains(out.String(), "secret-token") {
		t.Errorf("exit code %d, want %s in:\n%s", code, want, out.String())
	}
}
