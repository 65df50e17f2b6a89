// SPDX-License-Identifier: Apache-2.0

package imagelabels

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"k8s.io/apimachinery/pkg/types"
)

// Labels returns what is known of the labels of the image that a custom resource uses. It sends no request: where there is something to ask, an
// event follows.
func (r *Reader) Labels(user types.NamespacedName, q Question) Answer {
	return r.answersTo(user, "", []Question{q})[0]
}

// Files returns what is known of a file of the images that a custom resource uses, one answer for each question. It sends no request, as Labels.
// Without questions, the interest in the file is dropped.
func (r *Reader) Files(user types.NamespacedName, file string, questions []Question) []Answer {
	return r.answersTo(user, file, questions)
}

// answersTo returns the answers, one for each question, and drops the interest in images that are no longer asked for.
func (r *Reader) answersTo(user types.NamespacedName, file string, questions []Question) []Answer {
	if len(questions) > 0 {
		r.load()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	answers := make([]Answer, len(questions))
	var ids []string
	var waits *wait
	who := asker{user, file}
	for n := range questions {
		questions[n].File = file
		id, ref, err := identify(r.options.Key, &questions[n])
		switch {
		case err != nil:
			answers[n] = Answer{Err: err}
		case r.images[id] == nil && waiting(r.images, user.Namespace) >= maxWaiting:
			if waits == nil {
				waits = cmp.Or(r.later[who], &wait{since: time.Now()})
			}
			answers[n] = Answer{Pending: true, Since: waits.since}
			r.options.lookedUp(&answers[n])
		default:
			ids = append(ids, id)
			answers[n] = r.lookUp(id, ref, user, questions[n])
		}
	}
	delete(r.later, who)
	if waits != nil {
		waits.told = false
		r.later[who] = waits
	}
	for _, former := range r.asked[user][file] {
		if !slices.Contains(ids, former) {
			r.leave(user, former)
		}
	}
	r.remember(user, file, ids)
	r.next(user.Namespace)
	return answers
}

// remember keeps which images a custom resource asked for.
func (r *Reader) remember(user types.NamespacedName, file string, ids []string) {
	files := r.asked[user]
	switch {
	case len(ids) > 0 && files == nil:
		r.asked[user] = map[string][]string{file: ids}
	case len(ids) > 0:
		files[file] = ids
	default:
		delete(files, file)
		if len(files) == 0 {
			delete(r.asked, user)
		}
	}
}

// lookUp returns what is known of an image, and begins to ask for it where nobody does.
func (r *Reader) lookUp(id string, ref name.Reference, user types.NamespacedName, q Question) Answer {
	i := r.images[id]
	if i == nil {
		i = &image{id: id, answer: Answer{Pending: true, Since: time.Now()}, asked: r.dropped[id]}
		r.images[id] = i
		delete(r.dropped, id)
	}
	r.count++
	i.used = r.count
	r.begin(i, user, ref, q)
	r.evict(i)
	r.options.lookedUp(&i.answer)
	return i.answer
}

func (o *Options) lookedUp(answer *Answer) {
	switch {
	case o.LookedUp == nil:
	case answer.Pending:
		o.LookedUp(Miss)
	default:
		o.LookedUp(Hit)
	}
}

// Forget drops the interest of a custom resource that is gone.
func (r *Reader) Forget(user types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ids := range r.asked[user] {
		for _, id := range ids {
			r.leave(user, id)
		}
	}
	delete(r.asked, user)
	maps.DeleteFunc(r.later, func(a asker, _ *wait) bool { return a.user == user })
	r.next(user.Namespace)
}

// ForgetLabels drops the interest of a custom resource that needs no labels any more.
func (r *Reader) ForgetLabels(user types.NamespacedName) { r.answersTo(user, "", nil) }

// leave removes a user. The answer stays for the next one.
func (r *Reader) leave(user types.NamespacedName, id string) {
	i := r.images[id]
	if i == nil {
		return
	}
	delete(i.users, user)
	if len(i.users) > 0 || i.stop == nil {
		return
	}
	i.stop()
	i.stop = nil
	if !i.answer.kept() {
		delete(r.images, id)
	}
}
