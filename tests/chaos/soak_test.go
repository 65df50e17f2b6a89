// SPDX-License-Identifier: Apache-2.0

//go:build linux

package chaos

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/apply"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/gather"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const (
	// soakVariable names the variable with the duration of the soak, and soakSeed is the seed of its random actions.
	soakVariable = "LLSD_SOAK"
	soakSeed     = 20
	// restFor is how long the operator must not write at the end.
	restFor = 20 * time.Second
	// settled is the time without writes after which the last status of a rollout has been written.
	settled = 5 * time.Second
)

// soak does random actions to custom resources, the same ones for each seed.
type soak struct {
	*world
	operator *operator
	leader   *replica
	standby  *replica
	random   *rand.Rand
	names    []string
	did      map[string]int
}

// soakEdits are patches of a spec; # is a number.
var soakEdits = []string{
	`{"spec":{"workload":{"overrides":{"env":[{"name":"SOAK","value":"#"}]}}}}`,
	`{"spec":{"workload":{"replicas":2}}}`,
	`{"spec":{"workload":{"replicas":1}}}`,
	`{"spec":{"workload":{"podDisruptionBudget":null}}}`,
	`{"spec":{"workload":{"podDisruptionBudget":{"maxUnavailable":1}}}}`,
	`{"spec":{"networking":{"allowedFrom":{"namespaces":["friends-#"]}}}}`,
	`{"spec":{"networking":null}}`,
	`{"spec":{"providers":{"inference":{"provider":"vllm","endpoint":"http://vllm-#:8000/v1","apiKey":{"name":"keys","key":"token"}}}}}`,
	`{"spec":{"resources":{"models":["m-#"]}}}`,
	`{"spec":{"resources":null}}`,
}

// Proves: L-01, L-03, L-07, R56 (after random actions on custom resources, Secrets and replicas for hours, each
// resource matches its last spec, no objects are left over, the idle operator writes nothing, and memory and goroutines
// do not grow).
func TestSoak(t *testing.T) {
	lasts, count := 15*time.Second, 8
	if given := os.Getenv(soakVariable); given != "" {
		var err error
		lasts, err = time.ParseDuration(given)
		framework.NoError(t, err)
		count = 50
	}
	w := newWorld(t)
	o := newOperator(t, kubeconfig)
	s := &soak{
		world: w, operator: o, leader: o.start(t), standby: o.start(t), random: rand.New(rand.NewPCG(soakSeed, 0)),
		did: map[string]int{},
	}
	for i := range count {
		s.names = append(s.names, fmt.Sprintf("s-%d", i))
		w.create(s.names[i])
	}
	w.waitReady(s.names...)
	began := time.Now()
	// A leak shows only in a process that keeps running, so in the second half replicas stay.
	s.actUntil(began.Add(lasts/2), true)
	framework.Eventually(t, patience, "a replica leads", func() error { return errors.Join(s.leader.Alive(), s.standby.Alive()) })
	s.actUntil(time.Now().Add(lasts/10), false)
	halfway := s.memory()
	s.actUntil(began.Add(lasts), false)
	w.waitReady(s.names...)
	end := s.memory()
	s.checkObjects()
	writes := writesAtRest(t, restFor)
	figures.add(t, fmt.Sprintf("soak of %s, %d custom resources, %v: objects that are not as the last spec says", lasts, count, s.did), "0", "0")
	figures.add(t, "the same: resident memory of the two replicas half-way, in the end", "not more than 16 MiB more",
		fmt.Sprintf("%d, %d MiB", halfway>>20, end>>20))
	figures.add(t, "the same: writes of the operator in "+restFor.String()+" of rest, without its lease", "0", strconv.Itoa(writes))
	if end > halfway+16<<20 {
		t.Errorf("memory grew from %d to %d MiB", halfway>>20, end>>20)
	}
}

func (s *soak) actUntil(end time.Time, restarts bool) {
	s.t.Helper()
	tick := time.NewTicker(300 * time.Millisecond)
	defer tick.Stop()
	for n := 0; time.Now().Before(end); n++ {
		s.act(n, restarts)
		<-tick.C
	}
}

func (s *soak) act(n int, restarts bool) {
	s.t.Helper()
	name := s.names[s.random.IntN(len(s.names))]
	switch dice := s.random.IntN(200); {
	case dice == 0 && restarts:
		s.did["restarts"]++
		s.leader.Kill()
		s.operator.service.Remove(s.leader.Webhook)
		s.leader, s.standby = s.standby, s.operator.start(s.t)
	case dice < 4:
		s.did["deletions"]++
		cr := s.resource(name)
		s.delete(cr, metav1.DeletePropagationForeground)
		s.gone(cr)
		s.create(name)
	case dice < 8:
		s.did["rotations"]++
		patch := fmt.Appendf(nil, `{"stringData":{"token":"rotation-%d"}}`, n)
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Name, Name: "keys"}}
		framework.NoError(s.t, admin.Patch(s.t.Context(), secret, client.RawPatch(types.MergePatchType, patch)))
	case dice < 12:
		s.did["objects deleted"]++
		// A deleted PVC stays until its pods are gone, which the operator cannot change.
		owned := slices.DeleteFunc(s.objects(name), func(o unstructured.Unstructured) bool { return o.GetKind() == "PersistentVolumeClaim" })
		if len(owned) > 0 {
			s.delete(&owned[s.random.IntN(len(owned))], metav1.DeletePropagationBackground)
		}
	default:
		s.did["edits"]++
		patch := strings.ReplaceAll(soakEdits[s.random.IntN(len(soakEdits))], "#", strconv.Itoa(n%100))
		cr := s.resource(name)
		err := admin.Patch(s.t.Context(), cr, client.RawPatch(types.MergePatchType, []byte(patch)))
		if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
			s.t.Fatal(err)
		}
	}
}

func (s *soak) delete(o client.Object, how metav1.DeletionPropagation) {
	s.t.Helper()
	framework.NoError(s.t, client.IgnoreNotFound(admin.Delete(s.t.Context(), o, client.PropagationPolicy(how))))
}

func (s *soak) memory() (resident int64) {
	s.t.Helper()
	for _, r := range []*replica{s.leader, s.standby} {
		of, _, err := framework.MemoryOf(r.PID())
		framework.NoError(s.t, err)
		resident += of
	}
	return resident
}

// checkObjects builds the objects of each custom resource's last spec, and compares them with the existing ones.
func (s *soak) checkObjects() {
	s.t.Helper()
	key, err := apply.EnsureHashKey(s.t.Context(), admin, admin, framework.OperatorNamespace)
	framework.NoError(s.t, err)
	oracle := &gather.Gatherer{Live: admin, Cached: admin, OperatorNamespace: framework.OperatorNamespace, HashKey: key, Build: "oracle"}
	for _, name := range s.names {
		framework.Eventually(s.t, leastGoal, name+" is as its last spec says", func() error { return s.compare(oracle, name) })
	}
}

func (s *soak) compare(oracle *gather.Gatherer, name string) error {
	cr, err := s.get(name)
	if err != nil {
		return err
	}
	gathered, problems := oracle.Gather(s.t.Context(), cr)
	if problems.HasErrors() {
		return errors.New(problems.Message())
	}
	built, problems := build.Build(s.t.Context(), gathered.Inputs)
	if problems.HasErrors() {
		return errors.New(problems.Message())
	}
	there := map[string]*unstructured.Unstructured{}
	for _, o := range s.objects(name) {
		there[o.GetKind()+" "+o.GetName()] = &o
	}
	var wrong []string
	for _, o := range slices.Concat(built.Objects, built.Held) {
		content, err := objects.Content(o)
		if err != nil {
			return err
		}
		wanted := &unstructured.Unstructured{Object: content}
		id := wanted.GetKind() + " " + wanted.GetName()
		live := there[id]
		delete(there, id)
		if live == nil {
			wrong = append(wrong, id+" is missing")
			continue
		}
		for field, value := range content {
			if field != "metadata" && field != "status" && !contains(framework.Tree(s.t, live.Object[field]), framework.Tree(s.t, value)) {
				wrong = append(wrong, fmt.Sprintf("%s has another %s", id, field))
			}
		}
	}
	var configMaps []string
	for id := range there {
		if strings.HasPrefix(id, "ConfigMap ") {
			configMaps = append(configMaps, id)
		} else {
			wrong = append(wrong, id+" is left over")
		}
	}
	if len(configMaps) > 1 { // the previous configuration is kept
		wrong = append(wrong, fmt.Sprintf("%v are left over", configMaps))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%q", wrong)
	}
	return nil
}

// contains reports whether the live value has all desired fields; the API server adds defaults.
func contains(live, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		m, ok := live.(map[string]any)
		for key, value := range want {
			if !ok || !contains(m[key], value) {
				return false
			}
		}
		return true
	case []any:
		list, ok := live.([]any)
		if !ok || len(list) != len(want) {
			return len(want) == 0 && live == nil
		}
		for i := range want {
			if !contains(list[i], want[i]) {
				return false
			}
		}
		return true
	}
	return want == nil || live == want
}

// writesAtRest counts the operator's writes in a time without changes.
func writesAtRest(t *testing.T, rest time.Duration) (writes int) {
	t.Helper()
	count := func() (n int, last string) {
		all, err := cluster.Requests()
		framework.NoError(t, err)
		for i := range all {
			r := &all[i]
			if r.Resource == "leases" || !strings.HasPrefix(r.User, "system:serviceaccount:"+framework.OperatorNamespace+":") || strings.HasSuffix(r.Resource, "reviews") {
				continue
			}
			if slices.Contains([]string{"create", "patch", "update", "delete"}, r.Verb) {
				n++
				last = r.Verb + " " + r.Path
			}
		}
		return n, last
	}
	var before int
	var since time.Time
	framework.Eventually(t, patience, "the operator is silent", func() error {
		now, last := count()
		if now != before {
			before, since = now, time.Now()
		}
		if time.Since(since) < settled {
			return errors.New(last)
		}
		return nil
	})
	<-time.After(rest)
	after, last := count()
	if after != before {
		t.Errorf("%d writes at rest: %s", after-before, last)
	}
	return after - before
}
