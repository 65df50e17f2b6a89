// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
)

// Forward forwards a local port on the loopback address, or a free one for 0, to a port of a pod. It calls ready with
// the local port and returns when the context ends or the connection is lost.
type Forward func(ctx context.Context, pod *corev1.Pod, local, remote int32, ready func(local int32) error) error

// newForward returns a Forward that works as kubectl port-forward.
func newForward(config *rest.Config, core corev1client.CoreV1Interface) Forward {
	return func(ctx context.Context, pod *corev1.Pod, local, remote int32, ready func(local int32) error) error {
		transport, upgrader, err := spdy.RoundTripperFor(config)
		if err != nil {
			return err
		}
		url := core.RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).
			SubResource("portforward").URL()
		dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		listening := make(chan struct{})
		forwarder, err := portforward.NewOnAddressesWithContext(ctx, dialer, []string{"127.0.0.1"},
			[]string{fmt.Sprintf("%d:%d", local, remote)}, listening,
			io.Discard, io.Discard)
		if err != nil {
			return err
		}
		done := make(chan error, 1)
		go func() { done <- forwarder.ForwardPorts() }()
		select {
		case err := <-done:
			return err
		case <-listening:
		}
		ports, err := forwarder.GetPorts()
		if err == nil {
			err = ready(int32(ports[0].Local))
		}
		if err != nil {
			return err
		}
		return <-done
	}
}

// ReadyPod returns a custom resource and its newest ready pod.
func (c *Connection) ReadyPod(ctx context.Context, name string) (*v1alpha2.LlamaStackDistribution, *corev1.Pod, error) {
	cr, err := c.Get(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	list := &corev1.PodList{}
	if err := c.Client.List(ctx, list, client.InNamespace(cr.Namespace),
		client.MatchingLabels(names.Selector(cr.Name))); err != nil {
		return nil, nil, fmt.Errorf("read Pods: %w", err)
	}
	var best *corev1.Pod
	for i := range list.Items {
		p := &list.Items[i]
		if p.DeletionTimestamp == nil && pods.IsReady(p) && (best == nil ||
			best.CreationTimestamp.Before(&p.CreationTimestamp)) {
			best = p
		}
	}
	if best == nil {
		return nil, nil, fmt.Errorf("no pod of %s is ready: see kubectl llamastack status %s", cr.Name, cr.Name)
	}
	return cr, best, nil
}

// Scheme returns the scheme of the server's URL.
func Scheme(cr *v1alpha2.LlamaStackDistribution) string {
	if strings.HasPrefix(cr.Status.ServiceURL, "https:") {
		return "https"
	}
	return "http"
}
