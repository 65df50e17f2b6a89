// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime/debug"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-tools/pkg/crd"
	"sigs.k8s.io/controller-tools/pkg/genall"
	"sigs.k8s.io/controller-tools/pkg/loader"
)

// crds is controller-gen's CRD generator (whose markers and filters it inherits) without foreign descriptions.
type crds struct{ crd.Generator }

// Generate writes one file for each kind of the root packages.
func (crds) Generate(ctx *genall.GenerationContext) error {
	parser := &crd.Parser{Collector: ctx.Collector, Checker: ctx.Checker}
	crd.AddKnownTypes(parser)
	for _, root := range ctx.Roots {
		parser.NeedPackage(root)
	}
	metav1 := crd.FindMetav1(ctx.Roots)
	if metav1 == nil {
		return nil
	}
	kinds := crd.FindKubeKinds(parser, metav1)
	for _, kind := range kinds {
		for _, root := range ctx.Roots {
			if ident := (crd.TypeIdent{Package: root, Name: kind.Kind}); parser.Types[ident] != nil {
				parser.NeedSchemaFor(ident) // which includes every type below it
			}
		}
	}
	stripForeign(parser.Schemata, ctx.Roots)

	for _, kind := range kinds {
		parser.NeedCRDFor(kind, nil)
		definition := parser.CustomResourceDefinitions[kind]
		definition.Annotations = map[string]string{"controller-gen.kubebuilder.io/version": controllerToolsVersion()}
		crd.FixTopLevelMetadata(definition)
		name := fmt.Sprintf("%s_%s.yaml", definition.Spec.Group, definition.Spec.Names.Plural)
		if err := ctx.WriteYAML(name, "", []any{definition}, genall.WithTransform(withoutStatus)); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// stripForeign removes the descriptions from the schemas of types outside the root packages. It runs before references
// are resolved, so that the root packages' descriptions of fields with foreign types stay.
func stripForeign(schemata map[crd.TypeIdent]apiextensionsv1.JSONSchemaProps, roots []*loader.Package) {
	rootPaths := make(map[string]bool, len(roots))
	for _, root := range roots {
		rootPaths[root.PkgPath] = true
	}
	for ident, schema := range schemata {
		if !rootPaths[ident.Package.PkgPath] {
			crd.EditSchema(&schema, noDescription{})
			schemata[ident] = schema
		}
	}
}

type noDescription struct{}

func (v noDescription) Visit(schema *apiextensionsv1.JSONSchemaProps) crd.SchemaVisitor {
	if schema != nil {
		schema.Description = ""
	}
	return v
}

// controllerToolsVersion returns the version of the library that made the schema, for the CRD's annotation.
func controllerToolsVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dependency := range info.Deps {
			if dependency.Path == "sigs.k8s.io/controller-tools" {
				return dependency.Version
			}
		}
	}
	return "unknown"
}

// withoutStatus removes the status, which only an API server writes.
func withoutStatus(object map[string]any) error {
	delete(object, "status")
	return nil
}
