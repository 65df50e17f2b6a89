// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
)

// volumeCheck checks volumes.
type volumeCheck struct{ *report }

// all checks volumes: their names, that each has one source, and the names and paths in the sources that hold content.
func (c volumeCheck) all(list []corev1.Volume, at *field.Path) {
	seen := map[string]bool{}
	for i := range list {
		v, at := &list[i], at.Index(i)
		switch {
		case v.Name == "":
			c.missing(at.Child("name"), "give the volume a name")
		case len(validation.IsDNS1123Label(v.Name)) > 0:
			c.invalid(at.Child("name"), v.Name, "no volume can have this name", "use at most 63 lower-case letters, digits and '-'")
		case seen[v.Name]:
			c.add(at.Child("name"), field.ErrorTypeDuplicate, v.Name, "", "give each volume a name of its own")
		}
		seen[v.Name] = true
		switch names := namesOfSources(&v.VolumeSource); {
		case len(names) == 0:
			c.missing(at, "give the volume a source, such as configMap, secret, persistentVolumeClaim or emptyDir: {}")
		case len(names) > 1:
			c.conflict(at, fmt.Sprintf("has several sources: %s", strings.Join(names, ", ")))
		}
		c.source(&v.VolumeSource, at)
	}
}

func (c volumeCheck) source(v *corev1.VolumeSource, at *field.Path) {
	if s := v.Secret; s != nil {
		c.requiredName(at.Child("secret", "secretName"), s.SecretName, "Secret")
		c.items(s.Items, s.DefaultMode, at.Child("secret"))
	}
	if s := v.ConfigMap; s != nil {
		c.requiredName(at.Child("configMap", "name"), s.Name, "ConfigMap")
		c.items(s.Items, s.DefaultMode, at.Child("configMap"))
	}
	if s := v.PersistentVolumeClaim; s != nil {
		c.requiredName(at.Child("persistentVolumeClaim", "claimName"), s.ClaimName, "PersistentVolumeClaim")
	}
	if s := v.EmptyDir; s != nil && s.SizeLimit != nil && s.SizeLimit.Sign() < 0 {
		c.invalid(at.Child("emptyDir", "sizeLimit"), s.SizeLimit.String(), "must not be negative", "")
	}
	if s := v.HostPath; s != nil {
		c.hostPath(s, at.Child("hostPath"))
	}
	if s := v.NFS; s != nil {
		c.required(at.Child("nfs", "server"), s.Server, "give the host name or the address of the server")
		if !path.IsAbs(s.Path) {
			c.invalid(at.Child("nfs", "path"), s.Path, "must be an absolute path", "")
		}
	}
	if s := v.CSI; s != nil {
		c.csi(s, at.Child("csi"))
	}
	if s := v.Ephemeral; s != nil {
		c.ephemeral(s, at.Child("ephemeral", "volumeClaimTemplate"))
	}
	if s := v.ISCSI; s != nil {
		c.iscsi(s, at.Child("iscsi"))
	}
	if s := v.DownwardAPI; s != nil {
		c.mode(s.DefaultMode, at.Child("downwardAPI", "defaultMode"))
		c.downwardAPI(s.Items, at.Child("downwardAPI"))
	}
	if s := v.Projected; s != nil {
		c.projected(s, at.Child("projected"))
	}
	c.drivers(v, at)
}

func (c volumeCheck) hostPath(s *corev1.HostPathVolumeSource, at *field.Path) {
	c.required(at.Child("path"), s.Path, "give a directory of the node")
	if slices.Contains(strings.Split(s.Path, "/"), "..") {
		c.invalid(at.Child("path"), s.Path, "must be a path without ..", "")
	}
	if t := s.Type; t != nil && *t != corev1.HostPathUnset {
		c.oneOf(at.Child("type"), string(*t), string(corev1.HostPathDirectoryOrCreate), string(corev1.HostPathDirectory), string(corev1.HostPathFileOrCreate),
			string(corev1.HostPathFile), string(corev1.HostPathSocket), string(corev1.HostPathCharDev), string(corev1.HostPathBlockDev))
	}
}

func (c volumeCheck) csi(s *corev1.CSIVolumeSource, at *field.Path) {
	c.required(at.Child("driver"), s.Driver, "give the name of the driver, as its CSIDriver has it")
	if s.Driver != "" && (len(s.Driver) > 63 || len(validation.IsDNS1123Subdomain(strings.ToLower(s.Driver))) > 0) {
		c.invalid(at.Child("driver"), s.Driver, "no CSI driver can have this name", "use at most 63 letters, digits, '-' and '.'")
	}
	if ref := s.NodePublishSecretRef; ref != nil {
		c.requiredName(at.Child("nodePublishSecretRef", "name"), ref.Name, "Secret")
	}
}

// ephemeral checks the PersistentVolumeClaim that is made for each pod and ends with it.
func (c volumeCheck) ephemeral(s *corev1.EphemeralVolumeSource, at *field.Path) {
	t := s.VolumeClaimTemplate
	if t == nil {
		c.missing(at, "give the spec of the PersistentVolumeClaim: its accessModes and resources.requests.storage")
		return
	}
	at = at.Child("spec")
	if mode := t.Spec.VolumeMode; mode != nil {
		c.oneOf(at.Child("volumeMode"), string(*mode), string(corev1.PersistentVolumeBlock), string(corev1.PersistentVolumeFilesystem))
	}
	if len(t.Spec.AccessModes) > 1 && slices.Contains(t.Spec.AccessModes, corev1.ReadWriteOncePod) {
		c.conflict(at.Child("accessModes"), string(corev1.ReadWriteOncePod)+" excludes all others")
	}
	if len(t.Spec.AccessModes) == 0 {
		c.missing(at.Child("accessModes"), "give at least one, such as "+string(corev1.ReadWriteOnce))
	}
	for i, mode := range t.Spec.AccessModes {
		c.oneOf(at.Child("accessModes").Index(i), string(mode), string(corev1.ReadWriteOnce), string(corev1.ReadOnlyMany), string(corev1.ReadWriteMany),
			string(corev1.ReadWriteOncePod))
	}
	storage := at.Child("resources", "requests").Key(string(corev1.ResourceStorage))
	if size, ok := t.Spec.Resources.Requests[corev1.ResourceStorage]; !ok {
		c.missing(storage, "give the size, such as 10Gi")
	} else if size.Sign() <= 0 {
		c.invalid(storage, size.String(), "want a positive size", "")
	}
	c.name(at.Child("storageClassName"), ptr.Deref(t.Spec.StorageClassName, ""), "StorageClass")
	c.selector(t.Spec.Selector, at.Child("selector"))
}

func (c volumeCheck) projected(p *corev1.ProjectedVolumeSource, at *field.Path) {
	c.mode(p.DefaultMode, at.Child("defaultMode"))
	files := map[string]bool{}
	for i := range p.Sources {
		s, at := &p.Sources[i], at.Child("sources").Index(i)
		c.filesOnce(s, files, at)
		if names := namesOfSources(s); len(names) > 1 {
			c.conflict(at, "has several sources: "+strings.Join(names, ", "))
		}
		if s.Secret != nil {
			c.requiredName(at.Child("secret", "name"), s.Secret.Name, "Secret")
			c.items(s.Secret.Items, nil, at.Child("secret"))
		}
		if s.ConfigMap != nil {
			c.requiredName(at.Child("configMap", "name"), s.ConfigMap.Name, "ConfigMap")
			c.items(s.ConfigMap.Items, nil, at.Child("configMap"))
		}
		if s.DownwardAPI != nil {
			c.downwardAPI(s.DownwardAPI.Items, at.Child("downwardAPI"))
		}
		if t := s.ServiceAccountToken; t != nil {
			c.below(t.Path, at.Child("serviceAccountToken", "path"))
			if t.Path == "" {
				c.missing(at.Child("serviceAccountToken", "path"), "give the name of the file")
			}
			if t.ExpirationSeconds != nil && *t.ExpirationSeconds < 600 {
				c.invalid(at.Child("serviceAccountToken", "expirationSeconds"), *t.ExpirationSeconds, "must be at least 600, ten minutes", "")
			}
			if t.ExpirationSeconds != nil && *t.ExpirationSeconds > 1<<32 {
				c.invalid(at.Child("serviceAccountToken", "expirationSeconds"), *t.ExpirationSeconds, "must be at most 2^32", "")
			}
		}
	}
}

// filesOnce reports files of a part of a projected volume that it, or a part before it, has already. Kubernetes does not count those of tokens.
func (c volumeCheck) filesOnce(s *corev1.VolumeProjection, taken map[string]bool, at *field.Path) {
	once := func(file string, at *field.Path) {
		if file != "" && taken[file] {
			c.add(at, field.ErrorTypeDuplicate, file, "", "give each file of the volume a name of its own")
		}
		taken[file] = true
	}
	keys := func(items []corev1.KeyToPath, at *field.Path) {
		for i := range items {
			once(items[i].Path, at.Child("items").Index(i).Child("path"))
		}
	}
	if s.Secret != nil {
		keys(s.Secret.Items, at.Child("secret"))
	}
	if s.ConfigMap != nil {
		keys(s.ConfigMap.Items, at.Child("configMap"))
	}
	if s.DownwardAPI != nil {
		for i := range s.DownwardAPI.Items {
			once(s.DownwardAPI.Items[i].Path, at.Child("downwardAPI", "items").Index(i).Child("path"))
		}
	}
}

// items checks which keys of an object become which files.
func (c volumeCheck) items(list []corev1.KeyToPath, mode *int32, at *field.Path) {
	c.mode(mode, at.Child("defaultMode"))
	for i := range list {
		item, at := &list[i], at.Child("items").Index(i)
		if item.Key == "" {
			c.missing(at.Child("key"), "give a key of the object")
		}
		if item.Path == "" {
			c.missing(at.Child("path"), "give the name of the file")
		}
		c.below(item.Path, at.Child("path"))
		c.mode(item.Mode, at.Child("mode"))
	}
}

func (r *report) mode(mode *int32, at *field.Path) {
	if mode != nil && (*mode < 0 || *mode > 0o777) {
		r.invalid(at, *mode, "must be between 0 and 0777 in octal, 511 in decimal", "")
	}
}

// namesOfSources names the sources that a volume or a part of a projected volume has, in the order of the API.
func namesOfSources[T corev1.VolumeSource | corev1.VolumeProjection](v *T) []string {
	var names []string
	fields := reflect.ValueOf(v).Elem()
	for i := range fields.NumField() {
		if !fields.Field(i).IsNil() {
			name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
			names = append(names, name)
		}
	}
	return names
}
