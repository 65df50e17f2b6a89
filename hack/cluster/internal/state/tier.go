// SPDX-License-Identifier: Apache-2.0

package state

import "fmt"

// Tier is the set of components that a cluster runs.
type Tier string

const (
	// ControlPlane runs etcd, kube-apiserver and kube-controller-manager.
	ControlPlane Tier = "controlplane"
	// Node runs the control plane and a node that executes pods.
	Node Tier = "node"
)

// ParseTier returns the tier of that name, or an error that lists the names.
func ParseTier(name string) (Tier, error) {
	switch t := Tier(name); t {
	case ControlPlane, Node:
		return t, nil
	}
	return "", fmt.Errorf("unknown tier %q: use %s or %s", name, ControlPlane, Node)
}
