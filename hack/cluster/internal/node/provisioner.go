// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/apiclient"
)

const (
	provisionerName = "local.cluster.llamastack.io"

	provisionedByAnnotation = "pv.kubernetes.io/provisioned-by"
	// The scheduler's annotation with the node of a PVC's first pod.
	selectedNodeAnnotation = "volume.kubernetes.io/selected-node"

	// sizeLimit bounds the size of a PVC, as the disk of a real node does.
	sizeLimit = "100Gi"

	volumesPath = "/api/v1/persistentvolumes"
	pvcsPath    = "/api/v1/persistentvolumeclaims"
)

// provisioner creates local volumes for the PVCs of the default class, and removes them after their PVCs. It polls once
// a second, because a cluster here has few PVCs.
//
// The volumes are local rather than host paths, because kubelet applies a pod's fsGroup to local ones, as to real
// storage.
type provisioner struct {
	api *apiclient.Client
	dir string // of the volumes
}

// pvc and volume have the fields of a PVC and a PV that the provisioner reads.
type (
	pvc struct {
		Metadata struct {
			Name              string            `json:"name"`
			Namespace         string            `json:"namespace"`
			UID               string            `json:"uid"`
			Annotations       map[string]string `json:"annotations"`
			DeletionTimestamp string            `json:"deletionTimestamp"`
		} `json:"metadata"`
		Spec struct {
			StorageClassName string   `json:"storageClassName"`
			VolumeName       string   `json:"volumeName"`
			VolumeMode       string   `json:"volumeMode"`
			AccessModes      []string `json:"accessModes"`
			Resources        struct {
				Requests map[string]string `json:"requests"`
			} `json:"resources"`
		} `json:"spec"`
	}
	volume struct {
		Metadata struct {
			Name        string            `json:"name"`
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec struct {
			ReclaimPolicy string `json:"persistentVolumeReclaimPolicy"`
		} `json:"spec"`
		Status struct {
			Phase string `json:"phase"`
		} `json:"status"`
	}
)

// run works until ctx ends. It retries after an error, and logs a repeated error once.
func (p provisioner) run(ctx context.Context, log io.Writer) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := ""; ; {
		message := ""
		if err := p.reconcile(ctx); err != nil {
			message = err.Error()
		}
		if message != "" && message != last && ctx.Err() == nil {
			_, _ = fmt.Fprintf(log, "provisioning volumes: %s\n", message)
		}
		last = message
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p provisioner) reconcile(ctx context.Context) error {
	var pvcs struct{ Items []pvc }
	var volumes struct{ Items []volume }
	// Reads the server's cache; later changes are seen in the next poll.
	if err := p.api.Get(ctx, pvcsPath+"?resourceVersion=0", &pvcs); err != nil {
		return err
	}
	if err := p.api.Get(ctx, volumesPath+"?resourceVersion=0", &volumes); err != nil {
		return err
	}
	var errs []error
	for _, c := range pvcs.Items {
		exists := slices.ContainsFunc(volumes.Items, func(v volume) bool { return v.Metadata.Name == c.volumeName() })
		switch {
		case !c.pending() || exists:
		case c.tooLarge():
			errs = append(errs, p.reject(ctx, c))
		default:
			errs = append(errs, p.create(ctx, c))
		}
	}
	for _, v := range volumes.Items {
		if v.released() {
			errs = append(errs, p.remove(ctx, v))
		}
	}
	return errors.Join(errs...)
}

func (p provisioner) create(ctx context.Context, c pvc) error {
	path := filepath.Join(p.dir, c.volumeName())
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return c.wrap(p.api.Post(ctx, volumesPath, c.localVolume(path), nil))
}

// reject creates the PVC's only Event, which says why it gets no volume.
func (p provisioner) reject(ctx context.Context, c pvc) error {
	return c.wrap(p.api.Post(ctx, "/api/v1/namespaces/"+c.Metadata.Namespace+"/events", c.rejectionEvent(time.Now()), nil))
}

// wrap adds the PVC's name to an error, and ignores an existing object, which the server's cache did not have yet.
func (c pvc) wrap(err error) error {
	if err == nil || apiclient.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("PVC %s/%s: %w", c.Metadata.Namespace, c.Metadata.Name, err)
}

// remove removes the data before the volume, so that a failure is retried.
func (p provisioner) remove(ctx context.Context, v volume) error {
	if err := os.RemoveAll(filepath.Join(p.dir, v.Metadata.Name)); err != nil {
		return err
	}
	return p.api.Delete(ctx, volumesPath+"/"+v.Metadata.Name)
}

// pending reports whether the PVC waits for a volume of this node.
func (c pvc) pending() bool {
	return c.Spec.StorageClassName == storageClass && c.Spec.VolumeName == "" && c.Spec.VolumeMode != "Block" &&
		c.Metadata.Annotations[selectedNodeAnnotation] == nodeName && c.Metadata.DeletionTimestamp == ""
}

func (c pvc) tooLarge() bool {
	size, err := resource.ParseQuantity(c.Spec.Resources.Requests["storage"])
	return err == nil && size.Cmp(resource.MustParse(sizeLimit)) > 0
}

func (c pvc) rejectionEvent(now time.Time) map[string]any {
	at := now.UTC().Format(time.RFC3339)
	return map[string]any{
		"apiVersion": "v1", "kind": "Event",
		"metadata":       map[string]string{"name": c.volumeName()},
		"involvedObject": c.reference(),
		"type":           "Warning", "reason": "ProvisioningFailed", "count": 1, "firstTimestamp": at, "lastTimestamp": at,
		"message": fmt.Sprintf("the PVC requests %s, but volumes of this cluster have at most %s", c.Spec.Resources.Requests["storage"], sizeLimit),
		"source":  map[string]string{"component": provisionerName},
	}
}

// volumeName is unique, as the UID is.
func (c pvc) volumeName() string { return "pvc-" + c.Metadata.UID }

func (c pvc) reference() map[string]string {
	return map[string]string{
		"apiVersion": "v1", "kind": "PersistentVolumeClaim",
		"namespace": c.Metadata.Namespace, "name": c.Metadata.Name, "uid": c.Metadata.UID,
	}
}

func (c pvc) localVolume(path string) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "PersistentVolume",
		"metadata": map[string]any{"name": c.volumeName(), "annotations": map[string]string{provisionedByAnnotation: provisionerName}},
		"spec": map[string]any{
			"capacity":                      map[string]string{"storage": c.Spec.Resources.Requests["storage"]}, // not enforced
			"accessModes":                   c.Spec.AccessModes,
			"storageClassName":              storageClass,
			"persistentVolumeReclaimPolicy": "Delete",
			"claimRef":                      c.reference(),
			"local":                         map[string]string{"path": path},
			"nodeAffinity": map[string]any{"required": map[string]any{"nodeSelectorTerms": []any{map[string]any{
				"matchExpressions": []any{map[string]any{"key": "kubernetes.io/hostname", "operator": "In", "values": []string{nodeName}}},
			}}}},
		},
	}
}

// released reports whether the volume's PVC is deleted, and its data must be deleted.
func (v volume) released() bool {
	return v.Metadata.Annotations[provisionedByAnnotation] == provisionerName && v.Status.Phase == "Released" && v.Spec.ReclaimPolicy == "Delete"
}
