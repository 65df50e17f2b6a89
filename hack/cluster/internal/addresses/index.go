// SPDX-License-Identifier: Apache-2.0

package addresses

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
)

// Indexes assigns plans to clusters. A reservation is a file named by the index, with the cluster's directory and the
// owner.
type Indexes struct{ Dir string }

// reservation is the content of a reservation file, valid while Owner runs.
type reservation struct {
	Dir   string           `json:"dir"`
	Owner process.Identity `json:"owner"`
}

// Reserve returns the plan that the cluster in dir holds, or a free one whose ranges the machine does not use. The
// reservation lasts while owner lives.
func (x Indexes) Reserve(ctx context.Context, dir string, owner process.Identity, used []netip.Prefix) (Plan, error) {
	unlock, err := files.Lock(ctx, x.Dir+".lock", nil)
	if err != nil {
		return Plan{}, err
	}
	defer unlock()
	if err := os.MkdirAll(x.Dir, 0o755); err != nil {
		return Plan{}, err
	}
	var reasons []error
	for index := range maxClusters {
		plan, err := NewPlan(index)
		if err != nil {
			return Plan{}, err
		}
		current, err := x.read(index)
		if err != nil {
			return Plan{}, err
		}
		if current.Dir != dir && current.Owner.Alive() {
			reasons = append(reasons, fmt.Errorf("%d: taken by the cluster in %s", index, current.Dir))
			continue
		}
		if other, found := plan.conflict(used); found {
			reasons = append(reasons, fmt.Errorf("%d: the machine uses %s", index, other))
			continue
		}
		return plan, x.write(index, reservation{Dir: dir, Owner: owner})
	}
	return Plan{}, fmt.Errorf("no free address range for a cluster: stop one with cluster down: %w", errors.Join(reasons...))
}

// SetOwner changes the owner of a reservation.
func (x Indexes) SetOwner(index int, dir string, owner process.Identity) error {
	return x.write(index, reservation{Dir: dir, Owner: owner})
}

// Holds reports whether the reservation of the index still belongs to dir, whether its owner lives or not.
func (x Indexes) Holds(index int, dir string) (bool, error) {
	current, err := x.read(index)
	return current.Dir == dir, err
}

// Release removes the reservation of an index.
func (x Indexes) Release(index int) error {
	if err := os.Remove(x.File(index)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// File returns the file of an index's reservation.
func (x Indexes) File(index int) string { return filepath.Join(x.Dir, fmt.Sprint(index)) }

func (x Indexes) read(index int) (reservation, error) {
	data, err := os.ReadFile(x.File(index))
	if errors.Is(err, os.ErrNotExist) {
		return reservation{}, nil
	}
	if err != nil {
		return reservation{}, err
	}
	var current reservation
	if err := json.Unmarshal(data, &current); err != nil {
		return reservation{}, fmt.Errorf("%s: %w; remove the file if no cluster runs", x.File(index), err)
	}
	return current, nil
}

func (x Indexes) write(index int, r reservation) error {
	data, err := files.JSON(r)
	if err != nil {
		return err
	}
	return files.WriteAtomic(x.File(index), data)
}
