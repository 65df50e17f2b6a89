// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/distributions"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

const root = "../.."

// csv is a ClusterServiceVersion with the fields that the bundle uses. Decoding rejects others.
type csv struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
		Labels      map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		DisplayName    string              `json:"displayName"`
		Description    string              `json:"description"`
		Version        string              `json:"version"`
		Maturity       string              `json:"maturity"`
		MinKubeVersion string              `json:"minKubeVersion"`
		Keywords       []string            `json:"keywords"`
		Provider       map[string]string   `json:"provider"`
		Maintainers    []map[string]string `json:"maintainers"`
		Links          []map[string]string `json:"links"`
		Icon           []map[string]string `json:"icon"`
		InstallModes   []struct {
			Type      string `json:"type"`
			Supported bool   `json:"supported"`
		} `json:"installModes"`
		Install struct {
			Strategy string `json:"strategy"`
			Spec     struct {
				Deployments []struct {
					Name  string                `json:"name"`
					Label map[string]string     `json:"label"`
					Spec  appsv1.DeploymentSpec `json:"spec"`
				} `json:"deployments"`
				Permissions        []permission `json:"permissions"`
				ClusterPermissions []permission `json:"clusterPermissions"`
			} `json:"spec"`
		} `json:"install"`
		CRDs struct {
			Owned []ownedCRD `json:"owned"`
		} `json:"customresourcedefinitions"`
		RelatedImages []struct {
			Name  string `json:"name"`
			Image string `json:"image"`
		} `json:"relatedImages"`
	} `json:"spec"`
}

type permission struct {
	ServiceAccountName string              `json:"serviceAccountName"`
	Rules              []rbacv1.PolicyRule `json:"rules"`
}

type ownedCRD struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	Kind        string `json:"kind"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
	Resources   []struct {
		Version string `json:"version"`
		Kind    string `json:"kind"`
		Name    string `json:"name"`
	} `json:"resources"`
	SpecDescriptors   []csvDescriptor `json:"specDescriptors"`
	StatusDescriptors []csvDescriptor `json:"statusDescriptors"`
}

type csvDescriptor struct {
	Path         string   `json:"path"`
	DisplayName  string   `json:"displayName"`
	Description  string   `json:"description"`
	XDescriptors []string `json:"x-descriptors"`
}

func bundle(t *testing.T) (string, *csv) {
	t.Helper()
	dir := t.TempDir()
	framework.NoError(t, run(root, dir))
	c := &csv{}
	text := readFile(t, filepath.Join(dir, bundleDir, "manifests", packageID+".clusterserviceversion.yaml"))
	framework.NoError(t, yaml.UnmarshalStrict(text, c))
	return dir, c
}

// OLM grants the operator at least the permissions of the manifest.
func TestBundleInstallsTheOperatorOfTheManifest(t *testing.T) {
	_, c := bundle(t)
	s, err := read(root)
	framework.NoError(t, err)
	spec := c.Spec.Install.Spec
	if len(spec.Deployments) != 1 || len(spec.Permissions) != 1 || len(spec.ClusterPermissions) != 1 {
		t.Fatalf("install strategy %+v", spec)
	}
	d := spec.Deployments[0]
	if diff := cmp.Diff(s.deployment.Spec, d.Spec); diff != "" || d.Name != s.deployment.Name {
		t.Errorf("Deployment %s (-manifest +bundle):\n%s", d.Name, diff)
	}
	account := d.Spec.Template.Spec.ServiceAccountName
	if spec.Permissions[0].ServiceAccountName != account || spec.ClusterPermissions[0].ServiceAccountName != account {
		t.Error("the permissions are not those of the Deployment's ServiceAccount")
	}
	var role rbacv1.ClusterRole
	framework.NoError(t, yaml.UnmarshalStrict(readFile(t, filepath.Join(root, "config", "rbac", "role.yaml")), &role))
	for _, rule := range role.Rules {
		if !slices.ContainsFunc(spec.ClusterPermissions[0].Rules, func(r rbacv1.PolicyRule) bool { return cmp.Equal(r, rule) }) {
			t.Errorf("the operator may not %+v", rule)
		}
	}
	if len(spec.Permissions[0].Rules) < 4 {
		t.Errorf("in its own namespace the operator may only %+v", spec.Permissions[0].Rules)
	}
}

func TestBundleDescribesTheCRD(t *testing.T) {
	dir, c := bundle(t)
	var crd apiextensionsv1.CustomResourceDefinition
	paths, err := filepath.Glob(filepath.Join(dir, bundleDir, "manifests", "*customresourcedefinition.yaml"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("%v: %v", err, paths)
	}
	framework.NoError(t, yaml.UnmarshalStrict(readFile(t, paths[0]), &crd))
	if len(c.Spec.CRDs.Owned) != len(crd.Spec.Versions) {
		t.Errorf("%d versions are owned, the CRD has %d", len(c.Spec.CRDs.Owned), len(crd.Spec.Versions))
	}
	for i, o := range c.Spec.CRDs.Owned {
		version := crd.Spec.Versions[i]
		if o.Name != crd.Name || o.Kind != v1alpha2.Kind || o.Version != version.Name || o.Description == "" || len(o.SpecDescriptors) == 0 || len(o.StatusDescriptors) == 0 {
			t.Errorf("%+v", o)
		}
		for _, d := range o.SpecDescriptors {
			requireField(t, version.Schema.OpenAPIV3Schema.Properties["spec"], version.Name+" spec", d.Path)
		}
		for _, d := range o.StatusDescriptors {
			requireField(t, version.Schema.OpenAPIV3Schema.Properties["status"], version.Name+" status", d.Path)
		}
	}
}

func requireField(t *testing.T, schema apiextensionsv1.JSONSchemaProps, where, path string) {
	t.Helper()
	for part := range strings.SplitSeq(path, ".") {
		next, ok := schema.Properties[part]
		if !ok {
			t.Errorf("%s has no field %s", where, path)
			return
		}
		schema = next
	}
}

func TestBundleExamplesAreValid(t *testing.T) {
	_, c := bundle(t)
	var examples []json.RawMessage
	framework.NoError(t, json.Unmarshal([]byte(c.Metadata.Annotations["alm-examples"]), &examples))
	if len(examples) < 10 {
		t.Errorf("only %d examples", len(examples))
	}
	for _, e := range examples {
		var cr v1alpha2.LlamaStackDistribution
		if err := yaml.UnmarshalStrict(e, &cr); err != nil || cr.Kind != v1alpha2.Kind {
			t.Errorf("%v: %s", err, e)
		}
	}
}

// Mirrors need all default images. Unpublished images would make mirroring fail.
func TestBundleNamesAllImages(t *testing.T) {
	_, c := bundle(t)
	var images []string
	for _, i := range c.Spec.RelatedImages {
		images = append(images, i.Image)
	}
	want := []string{c.Spec.Install.Spec.Deployments[0].Spec.Template.Spec.Containers[0].Image}
	for _, d := range distributions.All() {
		if newest := d.Newest(); newest.Published {
			want = append(want, d.Image(newest.Version))
		}
	}
	for _, image := range want {
		if !slices.Contains(images, image) {
			t.Errorf("%s is not a related image: %v", image, images)
		}
	}
	if c.Metadata.Annotations["containerImage"] != want[0] {
		t.Errorf("the annotation has %s, the Deployment runs %s", c.Metadata.Annotations["containerImage"], want[0])
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	framework.NoError(t, err)
	return text
}
