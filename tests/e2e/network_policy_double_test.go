// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/tests/fixture"
)

// policyTable is the table of rules that networkPolicyDouble puts into the network of the node, in the words of nft.
const policyTable = `
table ip network_policy_double
delete table ip network_policy_double
table ip network_policy_double {
  chain forward {
    type filter hook forward priority filter; policy accept;
    ip daddr != { %[1]s } accept
    ct state established,related accept
%[2]s    meta l4proto tcp reject with tcp reset
    drop
  }
}
`

// networkPolicyDouble stands in for the part of a network plugin that enforces a NetworkPolicy, for what is sent to the pods of a stack as both are when it
// is called: what the policy does not allow is rejected in the network of the node, and nowhere else. It reads selectors of pods and of namespaces, and ports.
func networkPolicyDouble(t *testing.T, s stack) {
	t.Helper()
	policy := &networkingv1.NetworkPolicy{}
	if err := kube.Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: s.name + "-network-policy"}, policy); err != nil {
		t.Fatal(err)
	}
	targets := addressesOf(t, s.namespace, &policy.Spec.PodSelector)
	if len(targets) == 0 || !slices.Equal(policy.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}) {
		t.Fatalf("the policy is about %d pods: %+v", len(targets), policy.Spec)
	}
	var rules strings.Builder
	for _, rule := range policy.Spec.Ingress {
		for _, peer := range rule.From {
			for _, from := range peerAddresses(t, s.namespace, &peer) {
				for _, port := range rule.Ports {
					_, _ = fmt.Fprintf(&rules, "    ip saddr %s tcp dport %s accept\n", from, port.Port)
				}
			}
		}
	}
	nft(t, fmt.Sprintf(policyTable, strings.Join(targets, ", "), &rules))
}

// endNetworkPolicyDouble removes the rules.
func endNetworkPolicyDouble(t *testing.T) {
	t.Helper()
	nft(t, "table ip network_policy_double\ndelete table ip network_policy_double\n")
}

// nft changes the rules in the network of the node.
func nft(t *testing.T, rules string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "nsenter", "--net="+networkOf(t, "/kubelet "), "nft", "-f", "-")
	command.Stdin = strings.NewReader(rules)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("nft: %v: %s%s", err, out, rules)
	}
}

// peerAddresses are the addresses of the pods that a peer of a policy selects.
func peerAddresses(t *testing.T, own string, peer *networkingv1.NetworkPolicyPeer) []string {
	t.Helper()
	pods := peer.PodSelector
	if pods == nil {
		pods = &metav1.LabelSelector{}
	}
	if peer.NamespaceSelector == nil {
		return addressesOf(t, own, pods)
	}
	var namespaces corev1.NamespaceList
	if err := kube.List(t.Context(), &namespaces, client.MatchingLabelsSelector{Selector: asSelector(t, peer.NamespaceSelector)}); err != nil {
		t.Fatal(err)
	}
	var found []string
	for i := range namespaces.Items {
		found = append(found, addressesOf(t, namespaces.Items[i].Name, pods)...)
	}
	return found
}

// addressesOf are the addresses of the pods of a namespace that are selected.
func addressesOf(t *testing.T, namespace string, selector *metav1.LabelSelector) []string {
	t.Helper()
	var pods corev1.PodList
	if err := kube.List(t.Context(), &pods, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: asSelector(t, selector)}); err != nil {
		t.Fatal(err)
	}
	var found []string
	for i := range pods.Items {
		if ip := pods.Items[i].Status.PodIP; ip != "" {
			found = append(found, ip)
		}
	}
	return found
}

func asSelector(t *testing.T, selector *metav1.LabelSelector) labels.Selector {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// networkOf is the file of the network namespace in which the process of the cluster runs whose command line contains the text.
func networkOf(t *testing.T, command string) string {
	t.Helper()
	all, err := processes()
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	for pid, p := range all {
		if strings.Contains(p.command, command) && p.network != own && p.network != "" && belongs(all, pid, cluster.Dir) {
			return "/proc/" + pid + "/ns/net"
		}
	}
	t.Fatalf("no process %q of the cluster has a network of its own", command)
	return ""
}

// startClients starts a pod in each namespace, of that name, and waits until all run.
func startClients(t *testing.T, namespaces ...string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(fixture.Root(), "tests", "e2e", "testdata", "client.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range namespaces {
		namespace(t, name)
		stack{namespace: name}.apply(t, strings.NewReplacer("{{NAME}}", name, "{{IMAGE}}", modelServerImage).Replace(string(text)))
	}
	for _, name := range namespaces {
		stack{namespace: name}.kubectl(t, "wait", "pod/"+name, "--for=condition=Ready", "--timeout=90s")
	}
}

// endClients removes the namespaces.
func endClients(t *testing.T, namespaces ...string) {
	t.Helper()
	stack{}.kubectl(t, append([]string{"delete", "namespace", "--wait=false"}, namespaces...)...)
}

// reaches reports whether the pod of a namespace gets an answer from the stack's Service; otherwise its connection must be rejected.
func (s stack) reaches(t *testing.T, from string) bool {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "nsenter", "--net="+networkOf(t, "--models="+from),
		"curl", "--silent", "--show-error", "--max-time", "60", "--output", os.DevNull, "--write-out", "%{http_code}", s.url(t)+"/v1/health").CombinedOutput()
	const cannotConnect = 7 // of curl
	var failed *exec.ExitError
	switch {
	case err == nil && string(out) == "200":
		return true
	case errors.As(err, &failed) && failed.ExitCode() == cannotConnect:
		return false
	}
	t.Fatalf("from %s: %v: %s", from, err, out)
	return false
}
