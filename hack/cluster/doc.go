// SPDX-License-Identifier: Apache-2.0

// Package cluster runs a real single-node Kubernetes cluster from binaries that
// it builds from Go modules, for tests and demonstrations of the operator.
//
// Two tiers exist. The control plane tier is etcd, kube-apiserver and
// kube-controller-manager on free loopback ports: real admission, RBAC, garbage
// collection and workload controllers, but no node, so pods stay Pending. It
// needs no privileges. The node tier adds a scheduler, containerd, kubelet, kube-proxy,
// CoreDNS and an image registry; it needs Linux and root.
//
// Everything of a node-tier cluster lives in network, mount and PID namespaces
// of its own, below one init process. Ending that process ends every container,
// mount, network device and address of the cluster, whatever state it is in.
// The machine forwards nothing for the cluster, and the cluster has no route to
// anything but the machine's end of one virtual link.
//
// A cluster is identified by its directory. State is never carried over: Up on a
// stopped or damaged cluster starts an empty one.
//
// This package is what the command calls: [Build], [Up], [Inspect], [Load], [Push],
// [ServiceAccountKubeconfig], [Down]. It knows the order of events; the packages
// below internal know one thing each, and none of them imports this one.
//
// What the package does not do: several nodes, network policies, load balancers,
// upgrades, restarting a process that died, or keeping data.
package cluster
