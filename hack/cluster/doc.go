// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real single-node Kubernetes cluster from binaries that it builds from Go modules, for tests
// and demonstrations. The control plane tier runs etcd, kube-apiserver and kube-controller-manager on free loopback
// ports, without a node and without privileges. The node tier adds a scheduler, containerd, kubelet, kube-proxy,
// CoreDNS and an image registry; it needs Linux and root.
//
// A node-tier cluster runs in its own network, mount and PID namespaces below one init process, whose end removes
// everything. It has no route except to the machine. A cluster is identified by its directory and keeps no state: Up on
// a stopped or damaged cluster starts an empty one. There is one node, without network policies, load balancers,
// upgrades or restarts of failed processes.
package cluster
