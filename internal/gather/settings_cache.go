// SPDX-License-Identifier: Apache-2.0

package gather

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// SettingsCache is a cache of the operator's settings and of the metadata of ConfigMaps that register distributions, and of nothing else, so that admission
// sends no request for what it admits, but for a registration that nobody has read yet. A read waits until the API server has answered once, and fails when its
// context ends. Get is for the settings, List for the others.
type SettingsCache struct{ settings, registrations cache.Cache }

// NewSettingsCache returns a cache that asks the API server nothing before it is started.
func NewSettingsCache(ctx context.Context, config *rest.Config, operatorNamespace string) (*SettingsCache, error) {
	registers, err := labels.NewRequirement(settings.LabelDistribution, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	c := &SettingsCache{}
	c.settings, err = newConfigMapCache(ctx, config, operatorNamespace, &corev1.ConfigMap{}, cache.ByObject{
		Field: fields.OneTermEqualSelector(metav1.ObjectNameField, settings.ConfigMapName),
	})
	if err != nil {
		return nil, err
	}
	c.registrations, err = newConfigMapCache(ctx, config, operatorNamespace, metadataOf("ConfigMap"), cache.ByObject{Label: labels.NewSelector().Add(*registers)})
	return c, err
}

// newConfigMapCache returns a cache of ConfigMaps as the kind of object holds them: whole, or their metadata.
func newConfigMapCache(ctx context.Context, config *rest.Config, namespace string, kind client.Object, which cache.ByObject) (cache.Cache, error) {
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"ConfigMap", "ConfigMapList"} { // a cache looks a list up by the list's own kind
		mapper.Add(corev1.SchemeGroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	which.Namespaces = map[string]cache.Config{namespace: {}}
	c, err := cache.New(config, cache.Options{
		Scheme: scheme, Mapper: mapper, DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{kind: which},
	})
	if err != nil {
		return nil, fmt.Errorf("watch the operator's settings: %w", err)
	}
	if _, err := c.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil { // with the start, not with the first read
		return nil, fmt.Errorf("watch the operator's settings: %w", err)
	}
	return c, nil
}

// Start fills the cache until the context ends.
func (c *SettingsCache) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer cancel()
		ended <- c.registrations.Start(ctx)
	}()
	err := c.settings.Start(ctx)
	cancel()
	if other := <-ended; err == nil {
		err = other
	}
	return err
}

// Get reads the operator's settings.
func (c *SettingsCache) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	return c.settings.Get(ctx, key, o, options...)
}

// List lists the metadata of ConfigMaps that register distributions.
func (c *SettingsCache) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.registrations.List(ctx, list, options...)
}
