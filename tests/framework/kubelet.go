// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FakeKubelet simulates a node on the control plane tier: it binds pods, writes their status as a kubelet does, and
// removes deleted pods at once.
type FakeKubelet struct {
	client client.WithWatch
	held   atomic.Pointer[func(*corev1.Pod) bool]

	mu        sync.Mutex
	addresses map[types.UID]string
	holding   map[types.UID]bool
}

// StartFakeKubelet runs a FakeKubelet for the namespaces until the test ends.
func StartFakeKubelet(t testing.TB, c client.WithWatch, namespaces ...string) *FakeKubelet {
	t.Helper()
	k := &FakeKubelet{client: c, addresses: map[types.UID]string{}, holding: map[types.UID]bool{}}
	k.Hold(func(*corev1.Pod) bool { return false })
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fakeNode}}
	NoError(t, client.IgnoreAlreadyExists(c.Create(t.Context(), node)))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	running.Go(func() { // separate, because a round through many pods can take longer than the heartbeat deadline
		for ctx.Err() == nil {
			k.heartbeat(ctx, node)
			select {
			case <-ctx.Done():
			case <-time.After(5 * time.Second):
			}
		}
	})
	for _, namespace := range namespaces {
		running.Go(func() { onPodChanges(ctx, c, namespace, func() { k.round(ctx, namespace) }) })
	}
	return k
}

// onPodChanges calls do at once, after each change of a pod, and once a second, until the context ends.
func onPodChanges(ctx context.Context, c client.WithWatch, namespace string, do func()) {
	for ctx.Err() == nil {
		var changes <-chan watch.Event
		w, err := c.Watch(ctx, &corev1.PodList{}, client.InNamespace(namespace))
		if err == nil { // otherwise poll
			changes = w.ResultChan()
		}
		for watched := true; watched; {
			do()
			select {
			case <-ctx.Done():
				watched = false
			case _, watched = <-changes: // a watch can end
				watched = watched && drain(changes)
			case <-time.After(time.Second):
				watched = changes != nil
			}
		}
		if err == nil {
			w.Stop()
		}
	}
}

// drain empties a channel, and reports whether it is still open.
func drain(changes <-chan watch.Event) (open bool) {
	for {
		select {
		case _, open = <-changes:
			if !open {
				return false
			}
		default:
			return true
		}
	}
}

const fakeNode = "fake"

// heartbeat keeps the node's controller from evicting the pods.
func (k *FakeKubelet) heartbeat(ctx context.Context, node *corev1.Node) {
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: metav1.Now(), LastTransitionTime: node.CreationTimestamp,
	}}
	if k.client.Status().Update(ctx, node) != nil {
		_ = k.client.Get(ctx, client.ObjectKeyFromObject(node), node) // refresh after a conflict
	}
}

// Hold keeps the matching pods from becoming ready.
func (k *FakeKubelet) Hold(which func(*corev1.Pod) bool) { k.held.Store(&which) }

func (k *FakeKubelet) round(ctx context.Context, namespace string) {
	var pods corev1.PodList
	if err := k.client.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
		return // the next round retries
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.DeletionTimestamp != nil {
			_ = k.client.Delete(ctx, pod, client.GracePeriodSeconds(0))
			continue
		}
		if pod.Spec.NodeName == "" { // only pods on nodes become endpoints
			to := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: fakeNode}}
			_ = k.client.SubResource("binding").Create(ctx, pod, to)
			continue
		}
		k.setStatus(ctx, pod)
	}
}

// setStatus writes the status of a pod that is new, or whose hold changed. It keeps a status that a test wrote.
func (k *FakeKubelet) setStatus(ctx context.Context, pod *corev1.Pod) {
	ready, hold := corev1.ConditionTrue, (*k.held.Load())(pod)
	if hold {
		ready = corev1.ConditionFalse
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if pod.Status.Phase == corev1.PodRunning && k.holding[pod.UID] == hold {
		return
	}
	if k.addresses[pod.UID] == "" {
		n := len(k.addresses) + 1
		k.addresses[pod.UID] = fmt.Sprintf("10.200.%d.%d", n/250, n%250+1)
	}
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, k.addresses[pod.UID]
	pod.Status.PodIPs = []corev1.PodIP{{IP: pod.Status.PodIP}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: metav1.Now()}}
	if k.client.Status().Update(ctx, pod) == nil {
		k.holding[pod.UID] = hold
	}
}

// Endpoints watches the EndpointSlices of Services, and records which Services lost their last endpoint or routed to a
// terminating pod.
type Endpoints struct {
	mu     sync.Mutex
	slices map[string]map[string]int // by Service, by EndpointSlice
	empty  map[string]bool
	ending map[string]bool
	led    map[string]bool // by Service and address: not terminating
}

// WatchEndpoints watches the EndpointSlices of all namespaces until the test ends.
func WatchEndpoints(t testing.TB, c client.WithWatch) *Endpoints {
	t.Helper()
	e := &Endpoints{slices: map[string]map[string]int{}, empty: map[string]bool{}, ending: map[string]bool{}, led: map[string]bool{}}
	w, err := c.Watch(t.Context(), &discoveryv1.EndpointSliceList{})
	NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { w.Stop(); <-done })
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			if slice, ok := event.Object.(*discoveryv1.EndpointSlice); ok {
				if event.Type == watch.Deleted {
					slice.Endpoints = nil
				}
				e.note(slice)
			}
		}
	}()
	return e
}

func (e *Endpoints) note(slice *discoveryv1.EndpointSlice) {
	e.mu.Lock()
	defer e.mu.Unlock()
	service := slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]
	if e.slices[service] == nil {
		e.slices[service] = map[string]int{}
	}
	before := e.ready(service)
	n := 0
	leads := map[string]bool{}
	for _, endpoint := range slice.Endpoints {
		if len(slice.Ports) > 0 && (endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready) {
			n++
		}
		address := service + " " + endpoint.Addresses[0]
		if endpoint.Conditions.Terminating == nil || !*endpoint.Conditions.Terminating {
			leads[address] = true
		} else if e.led[address] { // a new endpoint that already terminates gets no requests
			e.ending[service] = true
		}
	}
	e.slices[service][slice.Name] = n
	for address := range e.led {
		if strings.HasPrefix(address, service+" ") {
			delete(e.led, address)
		}
	}
	maps.Copy(e.led, leads)
	if before > 0 && e.ready(service) == 0 {
		e.empty[service] = true
	}
}

func (e *Endpoints) ready(service string) int {
	sum := 0
	for _, n := range e.slices[service] {
		sum += n
	}
	return sum
}

// Ready returns the number of ready endpoints with a port of the Service NAMESPACE/NAME.
func (e *Endpoints) Ready(service string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ready(service)
}

// BecameEmpty reports whether the Service lost its last endpoint at any time.
func (e *Endpoints) BecameEmpty(service string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.empty[service]
}

// RoutedToTerminating reports whether the Service routed to a pod after it began to terminate.
func (e *Endpoints) RoutedToTerminating(service string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ending[service]
}
