// SPDX-License-Identifier: Apache-2.0

package pods_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// sized sets the requests and limits of the server's container; a sidecar requests 1 CPU and 1Gi.
func sized(requests, limits corev1.ResourceList, change func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		change(p)
		p.Spec.Containers = []corev1.Container{
			{Name: "llama-stack", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}},
			{Name: "proxy", Resources: corev1.ResourceRequirements{Requests: list("cpu", "1", "memory", "1Gi")}},
		}
	}
}

func list(pairs ...string) corev1.ResourceList {
	resources := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		resources[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return resources
}

func evictedFor(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", message
	}
}

// Proves: R18, NFR-004 (each cause has a remedy of its own, with what was asked and what the limit is).
func TestObserveNamesTheRemedy(t *testing.T) {
	const notFound = `failed to resolve reference "r.example/x:2": r.example/x:2: not found`
	for name, c := range map[string]struct {
		change       func(*corev1.Pod)
		text, remedy string
	}{
		"out of memory": {
			sized(list("memory", "256Mi"), list("memory", "512Mi"), ended(137, "OOMKilled", "log")),
			"the server ended with exit code 137 (OOMKilled): it used more than its memory limit of 512Mi",
			"raise spec.workload.resources.limits.memory",
		},
		"out of memory without a limit": {
			sized(list("memory", "256Mi"), nil, ended(137, "OOMKilled", "")),
			"the server ended with exit code 137 (OOMKilled): its node ran out of memory; it requests 256Mi and has no limit",
			"raise spec.workload.resources.requests.memory to what it uses",
		},
		"out of memory of an unknown size": {
			ended(137, "OOMKilled", ""), "the server ended with exit code 137 (OOMKilled): its node ran out of memory; it requests 0 and has no limit",
			"raise spec.workload.resources.requests.memory to what it uses",
		},
		"a sidecar out of memory": {
			func(p *corev1.Pod) {
				sized(nil, nil, ended(137, "OOMKilled", ""))(p)
				p.Status.ContainerStatuses[0].Name = "proxy"
			}, "container proxy ended with exit code 137 (OOMKilled): its node ran out of memory; it requests 1Gi and has no limit",
			"raise the memory that container proxy requests or may use",
		},
		"a missing Secret": {
			waiting("CreateContainerConfigError", `secret "a" not found`), `CreateContainerConfigError: secret "a" not found`, "create it, or correct its name in the spec",
		},
		"a wrong command": {
			waiting("RunContainerError", `exec: "serve": executable file not found in $PATH`), `RunContainerError: exec: "serve": executable file not found in $PATH`,
			"correct spec.workload.overrides.command",
		},
		"too much CPU and memory": {
			sized(list("cpu", "64", "memory", "1Ti"), nil, unscheduled("0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory. preemption: x")),
			"Unschedulable: 0/1 nodes are available: 1 Insufficient cpu, 1 Insufficient memory; the pod requests cpu 65, memory 1025Gi",
			"lower spec.workload.resources.requests, or add a node with that much",
		},
		"a device": {
			sized(list("nvidia.com/gpu", "2"), nil, unscheduled("0/3 nodes are available: 3 Insufficient nvidia.com/gpu.")),
			"Unschedulable: 0/3 nodes are available: 3 Insufficient nvidia.com/gpu; the pod requests nvidia.com/gpu 2",
			"lower spec.workload.resources.requests, or add a node with that much",
		},
		"no such label": {
			unscheduled("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."),
			"Unschedulable: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector",
			"correct spec.workload.scheduling.nodeSelector or affinity, or label a node",
		},
		"a taint": {
			unscheduled("0/1 nodes are available: 1 node(s) had untolerated taint {gpu: true}."),
			"Unschedulable: 0/1 nodes are available: 1 node(s) had untolerated taint {gpu: true}",
			"add the taint to spec.workload.scheduling.tolerations",
		},
		"no volume": {
			unscheduled("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
			"Unschedulable: 0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims",
			"see why its volume is missing: kubectl -n ai describe pvc",
		},
		"an unknown cause": {
			unscheduled("0/1 nodes are available: 1 node(s) are odd."), "Unschedulable: 0/1 nodes are available: 1 node(s) are odd",
			"change spec.workload.resources or spec.workload.scheduling, or add a node",
		},
		"no such image": {
			image("r.example/x:2", waiting("ErrImagePull", notFound)), "ImagePullBackOff: " + notFound,
			"correct the name or the tag of the image r.example/x:2",
		},
		"no such image of a volume": {
			image("r.example/x:2", waiting("ImagePullBackOff", `Back-off pulling image "r.example/models:1": ErrImagePull: `+notFound)), "ImagePullBackOff: " + notFound,
			"correct the name or the tag of the image r.example/models:1",
		},
		"an image by another name": {
			image("x:2", waiting("ErrImagePull", `failed to pull and unpack image "docker.io/library/x:2": not found`)),
			`ImagePullBackOff: failed to pull and unpack image "docker.io/library/x:2": not found`, "correct the name or the tag of the image x:2",
		},
		"no such name of an image": {
			image("r.example/x y", waiting("InvalidImageName", "couldn't parse image name")), "InvalidImageName: couldn't parse image name",
			"correct the name or the tag of the image r.example/x y",
		},
		"no access to the image": {
			image("r.example/x:2", waiting("ErrImagePull", "pull access denied, repository does not exist or may require authorization")),
			"ImagePullBackOff: pull access denied, repository does not exist or may require authorization",
			"correct the name of the image r.example/x:2, or name a Secret with access to its registry in spec.workload.imagePullSecrets",
		},
		"too many pulls": {
			image("x:2", waiting("ErrImagePull", "unexpected status: 429 Too Many Requests: toomanyrequests: rate limit")),
			"ImagePullBackOff: unexpected status: 429 Too Many Requests: toomanyrequests: rate limit",
			"wait until the registry allows more pulls, log in with spec.workload.imagePullSecrets, or use a mirror",
		},
		"a registry that is away": {
			image("r.example/x:2", waiting("ErrImagePull", "dial tcp: lookup r.example: no such host")), "ImagePullBackOff: dial tcp: lookup r.example: no such host",
			"make the registry of the image r.example/x:2 reachable from the node, or use a mirror",
		},
		"an image of a removed organization": {
			image("llamastack/distribution-starter:0.7.1", waiting("ErrImagePull", "denied")),
			"ImagePullBackOff: organization docker.io/llamastack was removed from its registry, so image llamastack/distribution-starter:0.7.1 cannot be pulled",
			settings.ImageAdvice,
		},
		"a crash": {
			ended(1, "Error", "ValueError: x"), "the server ended with exit code 1: ValueError: x", "its log has the cause: kubectl -n ai logs p -c llama-stack --previous",
		},
		"evicted for memory": {
			evictedFor("The node was low on resource: memory. Container llama-stack was using 2Gi, request is 256Mi, has larger consumption of memory. "),
			"Evicted: The node was low on resource: memory. Container llama-stack was using 2Gi, request is 256Mi, has larger consumption of memory.",
			"raise spec.workload.resources.requests.memory to what it uses",
		},
		"evicted for its disk": {
			evictedFor("Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."), "Evicted: Pod ephemeral local storage usage exceeds the total limit of containers 1Gi.",
			"raise spec.workload.resources for ephemeral-storage, or set spec.workload.storage, which puts the server's files on a volume",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod(0, c.change)
			for _, from := range []string{"the API server", "the cache"} {
				o := pods.Observe([]corev1.Pod{p}, "llama-stack", known)
				if o.NotReady != c.text || o.Remedy != c.remedy {
					t.Errorf("from %s\ngot  %s\n     %s\nwant %s\n     %s", from, o.NotReady, o.Remedy, c.text, c.remedy)
				}
				pods.Strip(&p)
			}
			// The plugin knows no Secrets, and shows the same remedy.
			if o := pods.Observe([]corev1.Pod{p}, "llama-stack", nil); o.Remedy != c.remedy {
				t.Errorf("without known Secrets, the remedy is %s", o.Remedy)
			}
		})
	}
}
