// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
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
	if s := v.AzureDisk; s != nil {
		c.azureDisk(s, at.Child("azureDisk"))
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

// azureDisk checks the kind of a disk, and that its URI is of this kind.
func (c volumeCheck) azureDisk(s *corev1.AzureDiskVolumeSource, at *field.Path) {
	if m := s.CachingMode; m != nil {
		c.oneOf(at.Child("cachingMode"), string(*m), string(corev1.AzureDataDiskCachingNone), string(corev1.AzureDataDiskCachingReadOnly),
			string(corev1.AzureDataDiskCachingReadWrite))
	}
	kind := ptr.Deref(s.Kind, corev1.AzureSharedBlobDisk)
	c.oneOf(at.Child("kind"), string(kind), string(corev1.AzureSharedBlobDisk), string(corev1.AzureDedicatedBlobDisk), string(corev1.AzureManagedDisk))
	prefix := "https://"
	if kind == corev1.AzureManagedDisk {
		prefix = "/subscriptions/"
	}
	if s.DataDiskURI != "" && !strings.HasPrefix(s.DataDiskURI, prefix) {
		c.invalid(at.Child("diskURI"), s.DataDiskURI, fmt.Sprintf("must begin with %s for a disk of kind %s", prefix, kind), "")
	}
}

func (c volumeCheck) iscsi(s *corev1.ISCSIVolumeSource, at *field.Path) {
	c.required(at.Child("targetPortal"), s.TargetPortal, "give the address of the target, such as 10.0.2.15:3260")
	c.required(at.Child("iqn"), s.IQN, "give the name of the target, such as "+iqnExample)
	c.iqn(s.IQN, at.Child("iqn"))
	c.iqn(ptr.Deref(s.InitiatorName, ""), at.Child("initiatorName"))
	if (s.SessionCHAPAuth || s.DiscoveryCHAPAuth) && s.SecretRef == nil {
		c.missing(at.Child("secretRef"), "name the Secret with the credentials for CHAP")
	}
	if s.Lun < 0 || s.Lun > 255 {
		c.invalid(at.Child("lun"), s.Lun, "must be between 0 and 255", "")
	}
}

const iqnExample = "iqn.2001-04.com.example:storage.disk1"

// iqnForm is the form of names of iSCSI targets and initiators.
var iqnForm = regexp.MustCompile(`^(iqn(.*iqn)?\.\d{4}-\d{2}\.[[:alnum:]\-.]+:[^,;*&$|\s]+|eui.[[:alnum:]]{16}|naa.[[:alnum:]]{32})$`)

func (c volumeCheck) iqn(name string, at *field.Path) {
	if name != "" && !iqnForm.MatchString(name) {
		c.invalid(at, name, "is not a name of the form iqn, eui or naa", "write one such as "+iqnExample)
	}
}
