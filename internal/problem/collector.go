// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// Collector collects up to limits.Problems problems of each severity and counts the rest. Its zero value is ready.
type Collector struct {
	// Skip reports whether a problem is neither shown nor counted; nil skips nothing.
	Skip func(Problem) bool

	list    List
	counts  map[Severity]int
	omitted map[Severity]int
}

// Add adds a problem after completing it with New.
func (c *Collector) Add(p Problem) {
	complete := New(p)
	if c.Skip != nil && c.Skip(*complete) || c.full(complete.Severity) {
		return
	}
	if c.counts == nil {
		c.counts = map[Severity]int{}
	}
	c.counts[complete.Severity]++
	c.list = append(c.list, *complete)
}

// AddFound adds the problem unless it is nil.
func (c *Collector) AddFound(p *Problem) {
	if p != nil {
		c.Add(*p)
	}
}

// AddAll adds all problems of a list.
func (c *Collector) AddAll(l List) {
	for i := range l {
		if more, ok := l[i].Value.(omitted); ok {
			c.omit(l[i].Severity, int(more))
			continue
		}
		c.Add(l[i])
	}
}

// Full reports whether the severity has reached its limit, and if so counts one omitted problem: do not Add it then.
// With Skip set, Full is always false.
func (c *Collector) Full(s Severity) bool { return c.Skip == nil && c.full(s) }

func (c *Collector) full(s Severity) bool {
	if c.counts[s] < limits.Problems {
		return false
	}
	c.omit(s, 1)
	return true
}

func (c *Collector) omit(s Severity, n int) {
	if c.omitted == nil {
		c.omitted = map[Severity]int{}
	}
	c.omitted[s] += n
}

// HasErrors reports whether an error was added.
func (c *Collector) HasErrors() bool { return c.counts[Error] > 0 }

// List returns the errors, then the warnings, each in the order of addition, with a last entry if some were omitted.
func (c *Collector) List() List {
	return append(c.withOmitted(Error, c.list.Errors()), c.withOmitted(Warning, c.list.Warnings())...)
}

// omitted is the value of a problem that stands for that many omitted ones.
type omitted int

func (c *Collector) withOmitted(s Severity, l List) List {
	more := c.omitted[s]
	if more == 0 {
		return l
	}
	return append(l, *New(Problem{
		Severity: s, Reason: MoreProblems, Path: wholeSpec, Type: field.ErrorTypeTooMany, Value: omitted(more),
		Detail: "more problems are left out here", Fix: "fix the others first",
	}))
}
