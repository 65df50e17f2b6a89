// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// sourcesWithRules are the sources of volumes whose fields have rules of their own.
var sourcesWithRules = []string{
	"secret", "configMap", "persistentVolumeClaim", "emptyDir", "hostPath", "nfs", "csi", "ephemeral", "iscsi", "downwardAPI", "projected",
}

// drivers checks the other sources: images, and those of storage drivers.
func (c volumeCheck) drivers(v *corev1.VolumeSource, at *field.Path) {
	c.requiredFields(v, at)
	if s := v.Image; s != nil {
		c.required(at.Child("image", "reference"), s.Reference, "give the image, such as registry.example.com/team/files:1.0")
		if s.PullPolicy != "" {
			c.oneOf(at.Child("image", "pullPolicy"), string(s.PullPolicy), string(corev1.PullAlways), string(corev1.PullIfNotPresent), string(corev1.PullNever))
		}
	}
	if s := v.ScaleIO; s != nil {
		c.required(at.Child("scaleIO", "volumeName"), s.VolumeName, "give the name of the volume")
	}
	if s := v.StorageOS; s != nil {
		c.required(at.Child("storageos", "volumeName"), s.VolumeName, "give the name of the volume")
	}
	if s := v.Flocker; s != nil && s.DatasetName == "" && s.DatasetUUID == "" {
		c.missing(at.Child("flocker"), "give datasetName or datasetUUID")
	}
	if s := v.FC; s != nil {
		c.fibreChannel(s, at.Child("fc"))
	}
}

// requiredFields reports the texts and lists that a source cannot be without. The API marks them by names without "omitempty".
func (c volumeCheck) requiredFields(v *corev1.VolumeSource, at *field.Path) {
	sources := reflect.ValueOf(v).Elem()
	for i := range sources.NumField() {
		name, _, _ := strings.Cut(sources.Type().Field(i).Tag.Get("json"), ",")
		if sources.Field(i).IsNil() || slices.Contains(sourcesWithRules, name) {
			continue
		}
		source := sources.Field(i).Elem()
		for j := range source.NumField() {
			key, options, _ := strings.Cut(source.Type().Field(j).Tag.Get("json"), ",")
			kind := source.Field(j).Kind()
			if options == "" && (kind == reflect.String || kind == reflect.Slice) && source.Field(j).Len() == 0 {
				c.missing(at.Child(name, key), "Kubernetes' documentation of this volume explains it")
			}
		}
	}
}

func (c volumeCheck) fibreChannel(s *corev1.FCVolumeSource, at *field.Path) {
	switch names, ids := len(s.TargetWWNs) > 0, len(s.WWIDs) > 0; {
	case names && ids:
		c.conflict(at, "has both targetWWNs and wwids")
	case !names && !ids:
		c.missing(at.Child("targetWWNs"), "give targetWWNs with lun, or wwids")
	case names && s.Lun == nil:
		c.missing(at.Child("lun"), "give the number of the unit of the targets")
	}
}
