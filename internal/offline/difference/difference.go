// SPDX-License-Identifier: Apache-2.0

package difference

import (
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// Report is the difference between two builds of a custom resource.
type Report struct {
	// Config are the changed leaves of config.yaml.
	Config []Change `json:"config,omitempty"`
	// Objects are the changed objects, except the ConfigMap of config.yaml.
	Objects []Object `json:"objects,omitempty"`
	// Restart are the reasons why pods restart; empty if they do not.
	Restart []string `json:"restart,omitempty"`
	// Unavailable reports that the server is unavailable while pods restart.
	Unavailable bool `json:"unavailable,omitempty"`
	// State are the warnings about state that moves or is left behind.
	State []string `json:"state,omitempty"`
	// New reports that there is no previous build.
	New bool `json:"-"`
	// Effective are the changed leaves of the effective configuration.
	Effective []Change `json:"-"`
}

// Object is a changed object.
type Object struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Action is "create", "delete", "change", or "keep" for a PVC that is no longer used.
	Action  string   `json:"action"`
	Changes []Change `json:"changes,omitempty"`
}

// The values of Object.Action.
const (
	Create = "create"
	Delete = "delete"
	Modify = "change"
	Keep   = "keep"
)

// Empty reports whether the builds are equal.
func (r *Report) Empty() bool { return len(r.Config)+len(r.Objects)+len(r.Restart) == 0 }

// Between compares two builds; before may be nil.
func Between(before, after *build.Desired) (*Report, error) {
	r := &Report{New: before == nil}
	old, err := readConfig(before)
	if err != nil {
		return nil, err
	}
	now, err := readConfig(after)
	if err != nil {
		return nil, err
	}
	r.Config = CompareTrees(old, now)
	if err := r.objects(before, after); err != nil {
		return nil, err
	}
	r.Unavailable = len(r.Restart) > 0 && after.ReplacesOnlyPod()
	if before == nil {
		return r, nil
	}
	if old, err = Effective(before); err != nil {
		return nil, err
	}
	if now, err = Effective(after); err != nil {
		return nil, err
	}
	r.Effective = CompareTrees(old, now)
	r.State = append(r.State, stateChanges(r.Effective, line(before), line(after))...)
	return r, nil
}

func line(d *build.Desired) *catalog.Line {
	if d == nil || d.Distribution == nil {
		return nil
	}
	return d.Distribution.Line
}

// readConfig returns the server's configuration. If none is generated, it is that of the image, if known.
func readConfig(d *build.Desired) (any, error) {
	var text []byte
	switch {
	case d == nil:
		return map[string]any{}, nil
	case d.Config != nil:
		text = d.Config.YAML
	case d.Override != nil:
		text = d.OverrideContent
	case d.Distribution != nil && d.Distribution.Base != nil:
		return ConfigOf(d.Distribution.Base)
	}
	var content any = map[string]any{}
	err := yaml.Unmarshal(text, &content)
	return content, err
}

// generated matches the end of a name with a content hash.
var generated = regexp.MustCompile(`-(config|ca-bundle|env)-([0-9a-f]{10}|<on-cluster>)$`)

// objects compares the objects by kind and name.
func (r *Report) objects(before, after *build.Desired) error {
	old, err := contents(before)
	if err != nil {
		return err
	}
	now, err := contents(after)
	if err != nil {
		return err
	}
	keys := slices.Clone(old.keys)
	for _, key := range now.keys {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for _, key := range keys {
		was, is := old.byKey[key], now.byKey[key]
		o := Object{Kind: key.kind, Name: key.name, Action: Modify}
		switch {
		case is == nil && key.kind == "PersistentVolumeClaim":
			o.Action = Keep
		case is == nil:
			o.Action = Delete
		case was == nil:
			o.Action = Create
		default:
			o.Changes = CompareTrees(was, is)
		}
		if o.Action == Modify && len(o.Changes) == 0 {
			continue
		}
		r.recordEffects(&o)
		// Hash annotations repeat other changes.
		shown := slices.DeleteFunc(slices.Clone(o.Changes), func(c Change) bool {
			return strings.HasSuffix(c.Path, "-hash]")
		})
		if o.Action != Modify || len(shown) > 0 {
			o.Changes = shown
			r.Objects = append(r.Objects, o)
		}
	}
	return nil
}

// recordEffects records the effects of a changed object on pods and state.
func (r *Report) recordEffects(o *Object) {
	switch {
	case o.Kind == "PersistentVolumeClaim" && o.Action == Create:
		r.State = append(r.State, "the data volume becomes the PersistentVolumeClaim "+o.Name+": data on the pods' disks "+
			"is lost")
	case o.Action == Keep:
		r.State = append(r.State, "the server no longer uses the PersistentVolumeClaim "+o.Name+", which is kept")
	case o.Kind != "Deployment" || o.Action != Modify:
		return
	}
	for _, c := range o.Changes {
		if strings.HasPrefix(c.Path, "spec.template.") {
			r.Restart = append(r.Restart, restartReason(c.Path))
		}
		if strings.HasPrefix(c.Path, "spec.template.") && strings.HasSuffix(c.Path, ".subPath") {
			r.State = append(r.State, "the storage directory on the volume changes from "+c.Before+" to "+c.After)
		}
	}
	slices.Sort(r.Restart)
	r.Restart = slices.Compact(r.Restart)
}

func restartReason(path string) string {
	switch {
	case strings.Contains(path, names.AnnotationConfigHash):
		return "config.yaml changes"
	case strings.HasSuffix(path, "].image"):
		return "the image changes"
	case strings.Contains(path, "].env["):
		return "the environment changes"
	case strings.Contains(path, "].resources."):
		return "the resources change"
	case strings.Contains(path, "olumes[") || strings.Contains(path, "olumeMounts["):
		return "the volumes change"
	}
	return strings.TrimPrefix(path, "spec.template.") + " changes"
}

type objectKey struct{ kind, name string }

type objectSet struct {
	keys  []objectKey
	byKey map[objectKey]any
}

// contents returns the objects with stable names, without the ConfigMap of config.yaml.
func contents(d *build.Desired) (*objectSet, error) {
	all := &objectSet{byKey: map[objectKey]any{}}
	if d == nil {
		return all, nil
	}
	for _, o := range append(slices.Clone(d.Objects), d.Held...) {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		if kind == "ConfigMap" && d.ConfigMapName != "" && o.GetName() == d.ConfigMapName {
			continue
		}
		content, err := objects.Content(o)
		if err != nil {
			return nil, err
		}
		key := objectKey{kind, generated.ReplaceAllString(o.GetName(), "-$1-*")}
		all.keys, all.byKey[key] = append(all.keys, key), stableNames(content)
	}
	return all, nil
}

// stableNames replaces content hashes in names.
func stableNames(value any) any {
	switch v := value.(type) {
	case map[string]any:
		renamed := make(map[string]any, len(v))
		for key, item := range v {
			renamed[key] = stableNames(item)
		}
		return renamed
	case []any:
		renamed := make([]any, len(v))
		for i, item := range v {
			renamed[i] = stableNames(item)
		}
		return renamed
	case string:
		return generated.ReplaceAllString(v, "-$1-*")
	}
	return value
}
