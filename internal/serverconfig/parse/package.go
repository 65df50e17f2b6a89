// SPDX-License-Identifier: Apache-2.0

package parse

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
)

// The type of a file that describes the package of an external provider.
const (
	PackageAPIVersion = "llamastack.io/v1alpha1"
	PackageKind       = "ProviderPackage"
)

// The paths in the image of an external provider.
const (
	PackageDir  = "/lls-provider"
	PackageFile = PackageDir + "/lls-provider-spec.yaml"
	WheelsDir   = PackageDir + "/packages"
)

// ProviderPackage describes the Python package of an external provider, from its image or the field package.
type ProviderPackage struct {
	// Name, Version and Vendor are informational, and empty in the field.
	Name, Version, Vendor string
	// PackageName is the Python package. The server imports <PackageName>.provider.
	PackageName string
	// ProviderType is the provider type in the package, such as "remote::mine".
	ProviderType string
	// API is the server's name of the provider's API.
	API string
	// Wheels are the paths of the wheels in the image, that of the package first; empty means all in WheelsDir.
	Wheels []string
	// EndpointField and KeyField are the config fields for endpoint and apiKey, if the package has such fields.
	EndpointField, KeyField string
}

var (
	modulePattern = regexp.MustCompile(`^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$`)
	typePattern   = regexp.MustCompile(`^(remote|inline)::[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)
	configField   = regexp.MustCompile(`^[A-Za-z_]\w*$`)
)

// ReadPackage parses the decoded file PackageFile. Each problem has the path in the file.
func ReadPackage(values map[string]any) (*ProviderPackage, problem.List) {
	o := newObject(nil, values)
	for _, expected := range []struct{ key, value string }{{"apiVersion", PackageAPIVersion}, {"kind", PackageKind}} {
		if got := o.getRequiredString(expected.key, expected.value); got != "" && got != expected.value {
			o.report(
				invalid(field.NewPath(expected.key), "must be "+expected.value, "use a package of this version of the format"),
			)
		}
	}
	if len(o.problems) > 0 {
		return nil, o.problems // the rest has an unknown format
	}
	p := &ProviderPackage{}
	metadata := newObject(field.NewPath("metadata"), o.getMap("metadata"))
	p.Name = metadata.getRequiredString("name", "my-provider")
	p.Version = metadata.getRequiredString("version", `"1.0.0"`)
	p.Vendor = metadata.getRequiredString("vendor", "example.com")
	spec := newObject(field.NewPath("spec"), o.getMap("spec"))
	p.readCode(spec)
	p.API = spec.getRequiredString("api", APIInference.Name)
	p.readWheels(spec)
	spec.rejectUnknown([]string{"packageName", "providerType", "api", "wheelPath", "dependencyWheels", "fields"})
	o.rejectUnknown([]string{"apiVersion", "kind", "metadata", "spec"})
	return p, append(append(o.problems, metadata.problems...), spec.problems...)
}

// inlinePackage parses the field package of an entry.
func (o *object) inlinePackage(v any, api ProviderAPI) *ProviderPackage {
	at := o.path.Child("package")
	m, ok := v.(map[string]any)
	if !ok {
		o.report(wrongType(at, "an object", "for example {packageName: my_provider, providerType: 'remote::mine'}"))
		return nil
	}
	inner := newObject(at, m)
	p := &ProviderPackage{API: api.Name}
	p.readCode(inner)
	if written := inner.getString("api"); written != "" {
		p.API = written
	}
	inner.rejectUnknown([]string{"packageName", "providerType", "api", "fields"})
	o.report(inner.problems...)
	return p
}

// readCode parses the fields that PackageFile and the field package share.
func (p *ProviderPackage) readCode(o *object) {
	p.PackageName = o.getRequiredString("packageName", "my_provider")
	if p.PackageName != "" && !modulePattern.MatchString(p.PackageName) {
		o.report(invalid(o.path.Child("packageName"), "is not the name of a Python package", "write it as Python imports "+
			"it, for example my_provider"))
	}
	p.ProviderType = o.getRequiredString("providerType", "remote::mine")
	if p.ProviderType != "" && !typePattern.MatchString(p.ProviderType) {
		o.report(invalid(o.path.Child("providerType"), "is not a provider type", "write remote::<name> or inline::<name>"))
	}
	fields := newObject(o.path.Child("fields"), o.getMap("fields"))
	for _, f := range []struct {
		key  string
		into *string
	}{{"endpoint", &p.EndpointField}, {"apiKey", &p.KeyField}} {
		if *f.into = fields.getString(f.key); *f.into != "" && !configField.MatchString(*f.into) {
			fields.report(invalid(fields.path.Child(f.key), "is not the name of a config field", "for example base_url"))
		}
	}
	fields.rejectUnknown([]string{"endpoint", "apiKey"})
	o.report(fields.problems...)
}

func (p *ProviderPackage) readWheels(o *object) {
	add := func(written string, at *field.Path) {
		clean := path.Clean(written)
		if !path.IsAbs(clean) {
			clean = path.Join(PackageDir, clean)
		}
		unprintable := strings.ContainsFunc(clean, func(r rune) bool { return !unicode.IsPrint(r) })
		if !strings.HasPrefix(clean, PackageDir+"/") || !strings.HasSuffix(clean, ".whl") || unprintable ||
			len(clean) > limits.WheelPathBytes {
			o.report(invalid(at, "is not a wheel below "+PackageDir,
				"for example "+WheelsDir+"/my_provider-1.0.0-py3-none-any.whl"))
			return
		}
		p.Wheels = append(p.Wheels, clean)
	}
	if written := o.getRequiredString("wheelPath", WheelsDir+"/my_provider-1.0.0-py3-none-any.whl"); written != "" {
		add(written, o.path.Child("wheelPath"))
	}
	v, ok := o.take("dependencyWheels")
	if !ok {
		return
	}
	at := o.path.Child("dependencyWheels")
	list, ok := v.([]any)
	if !ok {
		o.report(wrongType(at, "a list of paths", ""))
		return
	}
	if len(list) >= limits.ProviderWheels {
		o.report(invalid(at, fmt.Sprintf("has %d paths, and a package has at most %d wheels", len(list),
			limits.ProviderWheels), "leave it out: every wheel in "+
			WheelsDir+" is installed"))
		return
	}
	for i, item := range list {
		written, ok := item.(string)
		if !ok {
			o.report(wrongType(at.Index(i), "a path", ""))
			continue
		}
		add(written, at.Index(i))
	}
}

// IsFor reports whether the package is for an API, by the name in the server or in the custom resource.
func (p *ProviderPackage) IsFor(api ProviderAPI) bool {
	fold := func(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }
	return fold(p.API) == fold(api.Name)
}

// Placement returns the field of spec.externalProviders for the package, or "" for an unknown API.
func (p *ProviderPackage) Placement() string {
	for _, api := range ConfigurableAPIs() {
		if p.IsFor(api) {
			return "spec.externalProviders." + api.Field
		}
	}
	return ""
}

// Describe returns a description for messages: "my-provider 1.0.0 of example.com".
func (p *ProviderPackage) Describe() string {
	if p.Name == "" {
		return p.PackageName
	}
	return fmt.Sprintf("%s %s of %s", p.Name, p.Version, p.Vendor)
}
