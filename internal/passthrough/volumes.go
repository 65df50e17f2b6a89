// SPDX-License-Identifier: Apache-2.0

package passthrough

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// volumeList checks the names of volumes, that each has one source, and the names of Secrets, ConfigMaps and PersistentVolumeClaims.
func (c *check) volumeList(list []corev1.Volume, at *field.Path) {
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
			c.conflict(at, "has several sources: "+strings.Join(names, ", "))
		}
		if s := v.Secret; s != nil {
			c.requiredName(at.Child("secret", "secretName"), s.SecretName, "Secret")
		}
		if s := v.ConfigMap; s != nil {
			c.requiredName(at.Child("configMap", "name"), s.Name, "ConfigMap")
		}
		if s := v.PersistentVolumeClaim; s != nil {
			c.requiredName(at.Child("persistentVolumeClaim", "claimName"), s.ClaimName, "PersistentVolumeClaim")
		}
	}
}

// namesOfSources returns the names of the sources that a volume has, in the order of the API.
func namesOfSources(v *corev1.VolumeSource) []string {
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
