// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
)

// indexes allots plans to clusters. An entry is a file named by the index; it
// says which directory holds it and which process shows that this is still so.
type indexes struct{ dir string }

// claim is the content of an entry.
type claim struct {
	Dir   string   `json:"dir"`
	Owner Identity `json:"owner"`
}

// take returns the plan that the cluster in dir holds, else a free one whose
// ranges the machine does not use. The claim lasts while owner lives.
func (x indexes) take(ctx context.Context, dir string, owner Identity, used []netip.Prefix) (Plan, error) {
	unlock, err := lockFile(ctx, x.dir+".lock", nil)
	if err != nil {
		return Plan{}, err
	}
	defer unlock()
	if err := os.MkdirAll(x.dir, 0o755); err != nil {
		return Plan{}, err
	}
	var reasons []error
	for index := range maxClusters {
		plan, err := NewPlan(index)
		if err != nil {
			return Plan{}, err
		}
		held, err := x.read(index)
		if err != nil {
			return Plan{}, err
		}
		if held.Dir != dir && held.Owner.Alive() {
			reasons = append(reasons, fmt.Errorf("%d: taken by the cluster in %s", index, held.Dir))
			continue
		}
		if other, found := plan.conflict(used); found {
			reasons = append(reasons, fmt.Errorf("%d: the machine uses %s", index, other))
			continue
		}
		return plan, x.write(index, claim{Dir: dir, Owner: owner})
	}
	return Plan{}, fmt.Errorf("no free address range for a cluster: end one with cluster down: %w", errors.Join(reasons...))
}

// keep makes owner the process that a plan's claim lasts as long as.
func (x indexes) keep(index int, dir string, owner Identity) error {
	return x.write(index, claim{Dir: dir, Owner: owner})
}

// holds reports whether the claim on the index is dir's, alive or not: nobody
// took it over.
func (x indexes) holds(index int, dir string) (bool, error) {
	held, err := x.read(index)
	return held.Dir == dir, err
}

// release gives an index up.
func (x indexes) release(index int) error {
	if err := os.Remove(x.file(index)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (x indexes) file(index int) string { return filepath.Join(x.dir, fmt.Sprint(index)) }

func (x indexes) read(index int) (claim, error) {
	data, err := os.ReadFile(x.file(index))
	if errors.Is(err, os.ErrNotExist) {
		return claim{}, nil
	}
	if err != nil {
		return claim{}, err
	}
	var held claim
	if err := json.Unmarshal(data, &held); err != nil {
		return claim{}, fmt.Errorf("%s: %w; remove the file if no cluster runs", x.file(index), err)
	}
	return held, nil
}

func (x indexes) write(index int, c claim) error {
	data, err := indentedJSON(c)
	if err != nil {
		return err
	}
	return replaceFile(x.file(index), data)
}
