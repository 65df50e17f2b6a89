// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"cmp"
	"context"
	"maps"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/lanes"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

const (
	// maxQuestions bounds the questions that are asked at once, maxPerNamespace those of one namespace, and maxPerLane those of one namespace to
	// one registry. Package registry reads 2.75 MiB for each.
	maxQuestions    = 24
	maxPerNamespace = 4
	maxPerLane      = 3
	// maxWaiting bounds the images of one namespace that wait for an answer, the first one or one after failures. Custom resources with more of them are
	// told when there is a place.
	maxWaiting = 250
	// maxImages and maxBytes bound the answers that are kept: images, and bytes of their configurations.
	maxImages = 200
	maxBytes  = 16 << 20
	// unbounded is more than can wait for a place in a lane.
	unbounded = 1 << 30
)

// What becomes of a question.
const (
	// Hit: an answer was known.
	Hit = "hit"
	// Miss: a registry has to be asked, or has not answered yet.
	Miss = "miss"
)

// Options are the choices of New.
type Options struct {
	// Connect makes the client for the operator's settings.
	Connect Connector
	// Store keeps answers across restarts; nil keeps none.
	Store Store
	// Key is the operator's key for hashes of secret content.
	Key secret.Value
	// LookedUp is called for each question with what became of it: Hit or Miss; nil is not called.
	LookedUp func(result string)
}

// Reader knows the labels of images, and single files of them.
type Reader struct {
	options Options
	answers chan event.GenericEvent
	// lanes has one for each namespace and registry, namespaces one for each namespace. Who waits for a registry holds no place of the namespace.
	lanes, namespaces *lanes.Lanes

	ctx context.Context //nolint:containedctx // the manager's: it ends what is under way

	mu     sync.Mutex
	loaded bool
	images map[string]*image
	// asked are the ids of the images of each custom resource, by the file that it wants to know; "" stands for the labels.
	asked map[types.NamespacedName]map[string][]string
	// later are those for whose images their namespace had no place.
	later map[asker]*wait
	// dropped are answers that were dropped though they had users, by when they were asked for: they are asked for again after a pause.
	dropped map[string]time.Time
	// count makes the order in which images were used.
	count uint64
}

// asker is a custom resource that asks for the labels of images, or for a file of them.
type asker struct {
	user types.NamespacedName
	file string
}

// wait is for a place, since a time. told is true while an event about one is on its way.
type wait struct {
	since time.Time
	told  bool
}

// image is what is known of the labels, or of a file, of an image, for those with the same credentials.
type image struct {
	id       string
	ref      name.Reference
	question Question
	// namespace and lane are those of a custom resource that asked, in which it waits.
	namespace, lane string
	answer          Answer
	// users are the custom resources that use it, with the generation in which they asked last.
	users map[types.NamespacedName]int64
	used  uint64
	// asked is when the registry was asked last, failures how often it failed since it answered, and after how long it permits a question.
	asked    time.Time
	failures int
	after    time.Duration
	err      error
	wake     chan struct{}
	stop     context.CancelFunc
}

// New returns a reader. What it starts ends with the context.
func New(ctx context.Context, o Options) *Reader {
	return &Reader{
		ctx: ctx, options: o, answers: make(chan event.GenericEvent, maxQuestions),
		lanes: lanes.New(unbounded, maxPerLane), namespaces: lanes.New(maxQuestions, maxPerNamespace),
		images: map[string]*image{}, asked: map[types.NamespacedName]map[string][]string{}, later: map[asker]*wait{}, dropped: map[string]time.Time{},
	}
}

// Events is the channel of events: each names a custom resource for whose image there is something new.
func (r *Reader) Events() <-chan event.GenericEvent { return r.answers }

// begin makes the custom resource a user of the image, and wakes or starts what asks the registry.
func (r *Reader) begin(i *image, user types.NamespacedName, ref name.Reference, q Question) {
	if i.users == nil {
		i.users = map[types.NamespacedName]int64{}
	}
	former, known := i.users[user]
	i.users[user] = q.Generation
	changed := i.stop != nil && r.options.Connect.Differ(i.question.Registries, q.Registries)
	i.ref, i.question = ref, q
	if i.waits() && i.namespace != user.Namespace && waiting(r.images, user.Namespace) < waiting(r.images, i.namespace) { // it has its turn sooner
		i.stop()
		i.stop = nil
	}
	if !i.waits() {
		i.namespace, i.lane = user.Namespace, user.Namespace+" "+ref.Context().RegistryStr()
	}
	if i.stop == nil {
		var ctx context.Context
		ctx, i.stop = context.WithCancel(r.ctx)
		if i.wake == nil {
			i.wake = make(chan struct{}, 1)
		}
		go r.keepAsking(ctx, i)
		return
	}
	if changed && i.err != nil || known && former != q.Generation {
		if changed {
			i.after = 0
		}
		select {
		case i.wake <- struct{}{}:
		default:
		}
	}
}

// waits reports whether a registry is asked for an image that it has not answered for.
func (i *image) waits() bool { return i.stop != nil && !i.answer.settled() }

// waiting counts the images that wait in a namespace.
func waiting(images map[string]*image, namespace string) (count int) {
	for _, i := range images {
		if i.namespace == namespace && i.waits() {
			count++
		}
	}
	return count
}

// next tells the custom resource of a namespace that waits longest, where one more image can wait.
func (r *Reader) next(namespace string) {
	var user types.NamespacedName
	var first *wait
	for a, w := range r.later {
		if a.user.Namespace == namespace && !w.told && (first == nil || w.since.Before(first.since)) {
			user, first = a.user, w
		}
	}
	if first != nil && waiting(r.images, namespace) < maxWaiting {
		first.told = true
		go r.tell(r.ctx, user)
	}
}

// evict keeps the answers within the bounds. Those without users go first, then those of the namespace that has most of them: its users ask again when
// they are reconciled, after a pause. What waits for an answer stays.
func (r *Reader) evict(newest *image) {
	for {
		count, size := 0, 0
		for _, i := range r.images {
			if i.answer.settled() {
				count++
				size += i.answer.size()
			}
		}
		if count <= maxImages && size <= maxBytes {
			return
		}
		oldest := oldestOf(r.images, newest)
		if oldest == nil {
			return
		}
		if oldest.stop != nil {
			oldest.stop()
		}
		delete(r.images, oldest.id)
		r.drop(oldest.id)
		maps.DeleteFunc(r.dropped, func(_ string, asked time.Time) bool { return time.Since(asked) > askAgainPause })
		if len(oldest.users) > 0 {
			r.dropped[oldest.id] = oldest.asked
		}
	}
}

// oldestOf is the answer to drop next, another than the newest; nil where there is none.
func oldestOf(images map[string]*image, newest *image) (oldest *image) {
	share := map[string]int{} // of what is kept, by namespace: an image counts as much as the bytes that it may have
	for _, i := range images {
		if len(i.users) > 0 {
			share[i.namespace] += i.answer.size() + maxBytes/maxImages
		}
	}
	for _, i := range images {
		if i == newest || !i.answer.settled() {
			continue
		}
		if oldest == nil || cmp.Or(
			cmp.Compare(min(len(i.users), 1), min(len(oldest.users), 1)), cmp.Compare(share[oldest.namespace], share[i.namespace]), cmp.Compare(i.used, oldest.used),
		) < 0 {
			oldest = i
		}
	}
	return oldest
}

// announce makes an event for each user of an image.
func (r *Reader) announce(ctx context.Context, i *image) {
	r.mu.Lock()
	users := make([]types.NamespacedName, 0, len(i.users))
	for user := range i.users {
		users = append(users, user)
	}
	r.mu.Unlock()
	for _, user := range users {
		r.tell(ctx, user)
	}
}

// tell makes an event for a custom resource.
func (r *Reader) tell(ctx context.Context, user types.NamespacedName) {
	cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: user.Namespace, Name: user.Name}}
	select {
	case r.answers <- event.GenericEvent{Object: cr}:
	case <-ctx.Done():
	}
}
