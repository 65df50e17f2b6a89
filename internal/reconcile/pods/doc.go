// SPDX-License-Identifier: Apache-2.0

// Package pods reads from the status of a server's pods what a user asks for first: why a new pod is not ready, and
// which image it runs. It is pure, and keeps of a pod only what it reads (Strip), so that a cache of pods stays small.
//
// What a server printed before it ended comes from the pod's status, where the kubelet puts the end of the log: no
// permission for logs is needed. Such a text can have anything in it. It is shown only where all Secrets that the pod
// got are known, and never with a part of one.
//
// It does not decide whether a rollout is done: the Deployment reports that.
package pods
