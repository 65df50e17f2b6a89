// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/apiclient"
)

type object struct {
	path string
	body map[string]any
}

// bootstrapObjects returns the roles of the node's users, and the default StorageClass, whose volumes the supervisor
// creates.
func bootstrapObjects() []object {
	return []object{
		clusterRole(dnsUser, []map[string]any{
			{"apiGroups": []string{""}, "resources": []string{"services", "namespaces", "pods"}, "verbs": []string{"list", "watch"}},
			{"apiGroups": []string{"discovery.k8s.io"}, "resources": []string{"endpointslices"}, "verbs": []string{"list", "watch"}},
		}),
		clusterRoleBinding(dnsUser, dnsUser),
		clusterRoleBinding("system:kubelet-api-admin", kubeletClientUser),
		{"/apis/storage.k8s.io/v1/storageclasses", map[string]any{
			"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
			"metadata": map[string]any{
				"name":        storageClass,
				"annotations": map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
			},
			"provisioner": provisionerName, "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Delete",
		}},
	}
}

func clusterRole(name string, rules []map[string]any) object {
	return object{"/apis/rbac.authorization.k8s.io/v1/clusterroles", map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": name}, "rules": rules,
	}}
}

func clusterRoleBinding(role, user string) object {
	return object{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", map[string]any{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
		"metadata": map[string]any{"name": user},
		"roleRef":  map[string]string{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
		"subjects": []any{map[string]string{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}},
	}}
}

func bootstrap(ctx context.Context, api *apiclient.Client) error {
	for _, o := range bootstrapObjects() {
		if err := api.Post(ctx, o.path, o.body, nil); err != nil {
			return fmt.Errorf("creating %s: %w", o.path, err)
		}
	}
	return nil
}

// nodeReady returns nil if the node accepts pods: it is ready, and has no taint of a starting node.
func nodeReady(ctx context.Context, api *apiclient.Client) error {
	var node struct {
		Spec struct {
			Taints []struct {
				Key string `json:"key"`
			} `json:"taints"`
		} `json:"spec"`
		Status struct {
			Conditions []struct {
				Type    string `json:"type"`
				Status  string `json:"status"`
				Message string `json:"message"`
			} `json:"conditions"`
		} `json:"status"`
	}
	if err := api.Get(ctx, "/api/v1/nodes/"+nodeName, &node); err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != "Ready" {
			continue
		}
		if condition.Status != "True" {
			return errors.New(condition.Message)
		}
		if len(node.Spec.Taints) > 0 {
			return fmt.Errorf("the node has the taint %s", node.Spec.Taints[0].Key)
		}
		return nil
	}
	return errors.New("the node has not reported")
}
