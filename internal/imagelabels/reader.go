// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"context"
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
	// maxImages and maxBytes bound what is kept: images, and bytes of their configurations. Those that were used longest ago go first.
	maxImages = 200
	maxBytes  = 16 << 20
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
	// count makes the order in which images were used.
	count uint64
}

// image is what is known of the labels, or of a file, of an image, for those with the same credentials.
type image struct {
	id       string
	ref      name.Reference
	question Question
	// namespace and lane are those of the custom resource that asked last.
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
		lanes: lanes.New(maxImages, maxPerLane), namespaces: lanes.New(maxQuestions, maxPerNamespace),
		images: map[string]*image{}, asked: map[types.NamespacedName]map[string][]string{},
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
	i.ref, i.question, i.namespace, i.lane = ref, q, user.Namespace, user.Namespace+" "+ref.Context().RegistryStr()
	if i.stop == nil {
		var ctx context.Context
		ctx, i.stop = context.WithCancel(r.ctx)
		i.wake = make(chan struct{}, 1)
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

// evict keeps within the bounds. Images without users go first, then those that were used longest ago: their users ask again. Those that wait for an
// answer would not do so by themselves: there is an event for each of them.
func (r *Reader) evict(newest *image) {
	for {
		size := 0
		var oldest *image
		for _, i := range r.images {
			size += i.answer.size()
			if i != newest && (oldest == nil || before(i, oldest)) {
				oldest = i
			}
		}
		if oldest == nil || len(r.images) <= maxImages && size <= maxBytes {
			return
		}
		if oldest.stop != nil {
			oldest.stop()
		}
		delete(r.images, oldest.id)
		r.drop(oldest.id)
		if oldest.answer.Pending && len(oldest.users) > 0 {
			go r.announce(r.ctx, oldest)
		}
	}
}

func before(a, b *image) bool {
	if (len(a.users) == 0) != (len(b.users) == 0) {
		return len(a.users) == 0
	}
	return a.used < b.used
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
		cr := &v1alpha2.LlamaStackDistribution{ObjectMeta: metav1.ObjectMeta{Namespace: user.Namespace, Name: user.Name}}
		select {
		case r.answers <- event.GenericEvent{Object: cr}:
		case <-ctx.Done():
			return
		}
	}
}
