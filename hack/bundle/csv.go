// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/distributions"
)

//go:embed description.md
var description string

const (
	source    = "https://github.com/llamastack/llama-stack-k8s-operator"
	namespace = "llama-stack-k8s-operator-system"
	icon      = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="12" fill="#2f4f6f"/>` +
		`<path d="M16 20h32v6H16zm0 12h32v6H16zm0 12h20v6H16z" fill="#fff"/></svg>`
)

type (
	object = map[string]any
	list   = []any
)

func (s *sources) serviceVersion() (object, error) {
	examples, err := s.examples()
	if err != nil {
		return nil, err
	}
	owned, err := s.owned()
	if err != nil {
		return nil, err
	}
	account := s.deployment.Spec.Template.Spec.ServiceAccountName
	image := s.deployment.Spec.Template.Spec.Containers[0].Image
	return object{
		"apiVersion": "operators.coreos.com/v1alpha1",
		"kind":       "ClusterServiceVersion",
		"metadata": object{
			"name":      packageID + ".v" + s.version,
			"namespace": "placeholder",
			"annotations": object{
				"alm-examples":   examples,
				"capabilities":   "Seamless Upgrades",
				"categories":     "AI/Machine Learning",
				"containerImage": image,
				"description":    "Runs llama-stack servers on Kubernetes",
				"repository":     source,
				"support":        source + "/issues",
				"operatorframework.io/suggested-namespace": namespace,
			},
			"labels": object{"operatorframework.io/arch.amd64": "supported", "operatorframework.io/arch.arm64": "supported"},
		},
		"spec": object{
			"displayName": "Llama Stack Operator", "description": description, "version": s.version, "maturity": "alpha", "minKubeVersion": "1.30.0",
			"keywords":    list{"llama-stack", "ogx", "llm", "inference"},
			"provider":    object{"name": "llama-stack-k8s-operator", "url": source},
			"maintainers": list{object{"name": "llama-stack-k8s-operator maintainers", "email": "maintainers@llamastack.io"}},
			"links":       list{object{"name": "Documentation", "url": source}},
			"icon": list{
				object{"base64data": base64.StdEncoding.EncodeToString([]byte(icon)), "mediatype": "image/svg+xml"},
			},
			// The only CRD has the namespace of the conversion webhook, so one operator serves all namespaces.
			"installModes": list{
				installMode(
					"OwnNamespace",
					false,
				), installMode("SingleNamespace", false), installMode("MultiNamespace", false), installMode("AllNamespaces", true),
			},
			"install": object{"strategy": "deployment", "spec": object{
				"deployments": list{
					object{"name": s.deployment.Name, "label": s.deployment.Labels, "spec": s.deployment.Spec},
				},
				"permissions":        list{object{"serviceAccountName": account, "rules": s.permissions}},
				"clusterPermissions": list{object{"serviceAccountName": account, "rules": s.clusterPermissions}},
			}},
			"customresourcedefinitions": object{"owned": owned},
			"relatedImages":             relatedImages(image),
		},
	}, nil
}

func installMode(kind string, supported any) object {
	return object{"type": kind, "supported": supported}
}

// relatedImages returns all images that run unless a resource or the operator's settings name others, for mirroring. An
// unpublished image would make the mirror fail.
func relatedImages(operator string) list {
	images := list{object{"name": "operator", "image": operator}}
	for _, d := range distributions.All() {
		if newest := d.Newest(); newest.Published {
			images = append(images, object{"name": d.Name, "image": d.Image(newest.Version)})
		}
	}
	return images
}

func (s *sources) examples() (string, error) {
	paths, err := filepath.Glob(filepath.Join(s.root, "config", "samples", "v1alpha2-*.yaml"))
	if err != nil {
		return "", err
	}
	var all []json.RawMessage
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		content, err := yaml.YAMLToJSON(text)
		if err != nil {
			return "", err
		}
		all = append(all, content)
	}
	text, err := json.MarshalIndent(all, "", "  ")
	return string(text), err
}

type descriptor struct{ path, name, widget string }

var statusDescriptors = []descriptor{
	{"conditions", "Conditions", "urn:alm:descriptor:io.kubernetes.conditions"},
	{"phase", "Phase", "urn:alm:descriptor:io.kubernetes.phase"},
	{"serviceURL", "URL in the cluster", "urn:alm:descriptor:org.w3:link"},
	{"routeURL", "URL outside of the cluster", "urn:alm:descriptor:org.w3:link"},
	{"availableReplicas", "Available pods", "urn:alm:descriptor:com.tectonic.ui:podCount"},
	{"version.llamaStackServerVersion", "Server version", "urn:alm:descriptor:text"},
}

var specDescriptors = map[string][]descriptor{
	"v1alpha2": {
		{"distribution", "Distribution", ""},
		{"providers", "Providers", ""},
		{"resources", "Models, tools and shields", ""},
		{"storage", "Storage of the server's state", ""},
		{"disabled", "Disabled APIs", ""},
		{"networking", "Networking", ""},
		{"networking.port", "Port", "urn:alm:descriptor:com.tectonic.ui:number"},
		{"workload.replicas", "Pods", "urn:alm:descriptor:com.tectonic.ui:podCount"},
		{"workload.resources", "CPU and memory", "urn:alm:descriptor:com.tectonic.ui:resourceRequirements"},
		{"overrideConfig", "Complete configuration of your own", ""},
	},
	"v1alpha1": {
		{"server", "Server", ""},
		{"replicas", "Pods", "urn:alm:descriptor:com.tectonic.ui:podCount"},
	},
}

// ownedCRD returns the description of each version of the CRD.
func (s *sources) owned() (list, error) {
	var versions list
	for _, v := range s.crd.Spec.Versions {
		spec, known := specDescriptors[v.Name]
		if !known {
			return nil, errors.New("no descriptors for version " + v.Name + ": add them to hack/bundle")
		}
		root := v.Schema.OpenAPIV3Schema
		versions = append(versions, object{
			"name": s.crd.Name, "version": v.Name, "kind": s.crd.Spec.Names.Kind, "displayName": "Llama Stack server",
			"description": strings.ReplaceAll(root.Description, "\n", " "),
			"resources": list{
				ownedResource(
					"v1",
					"ConfigMap",
				), ownedResource("apps/v1", "Deployment"), ownedResource("v1", "Service"), ownedResource("v1", "PersistentVolumeClaim"),
				ownedResource("networking.k8s.io/v1", "Ingress"), ownedResource("networking.k8s.io/v1", "NetworkPolicy"),
			},
			"specDescriptors":   descriptorList(spec),
			"statusDescriptors": descriptorList(statusDescriptors),
		})
	}
	return versions, nil
}

func ownedResource(version, kind string) object {
	return object{"version": version, "kind": kind, "name": ""}
}

func descriptorList(descriptors []descriptor) list {
	sorted := slices.SortedFunc(
		slices.Values(descriptors),
		func(a, b descriptor) int { return cmp.Compare(a.path, b.path) },
	)
	var all list
	for _, d := range sorted {
		o := object{"path": d.path, "displayName": d.name, "description": d.name + "."}
		if d.widget != "" {
			o["x-descriptors"] = list{d.widget}
		}
		all = append(all, o)
	}
	return all
}

func (s *sources) catalogEntry() (string, error) {
	name := packageID + ".v" + s.version
	group := s.crd.Spec.Group
	properties := list{object{"type": "olm.package", "value": object{"packageName": packageID, "version": s.version}}}
	for _, v := range s.crd.Spec.Versions {
		properties = append(
			properties,
			object{"type": "olm.gvk", "value": object{"group": group, "kind": s.crd.Spec.Names.Kind, "version": v.Name}},
		)
	}
	operator := s.deployment.Spec.Template.Spec.Containers[0].Image
	var parts []string
	for _, o := range []object{
		{"schema": "olm.package", "name": packageID, "defaultChannel": channel, "description": description},
		{"schema": "olm.channel", "name": channel, "package": packageID, "entries": list{object{"name": name}}},
		{
			"schema": "olm.bundle", "name": name, "package": packageID, "properties": properties, "relatedImages": relatedImages(operator),
			"image": "quay.io/llamastack/llama-stack-k8s-operator-bundle:v" + s.version,
		},
	} {
		text, err := yaml.Marshal(o)
		if err != nil {
			return "", err
		}
		parts = append(parts, string(text))
	}
	return strings.Join(parts, "---\n"), nil
}
