// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
)

// configurable are the APIs that the custom resource configures. Each of their provider types must have a row in the
// overlay.
var configurable = []string{"inference", "safety", "tool_runtime", "vector_io"}

// convertedSections are the sections that the catalog represents in another form.
var convertedSections = []string{"storage", "providers"}

// assemble merges the overlay into the introspection of a package.
func assemble(name string, introspected *introspection, over *overlay) (*catalog.Line, error) {
	release := introspected.Release
	line := &catalog.Line{
		Name: name, Package: introspected.Package, Release: introspected.Release,
		PortEnv: introspected.Env.Port, LogEnv: introspected.Env.Log, HomeEnv: introspected.Env.Home, MetricsEnv: introspected.Env.Metrics,
		NeedsInsecure: introspected.NeedsInsecure, DefaultStorage: introspected.DefaultStorage,
		RegistersToolGroups: introspected.ToolGroupsRegistered, AllProviders: introspected.RegisteredEverywhere,
		RegistersVectorStores: introspected.RegistersStores,
		VerifiesAuthTLS:       introspected.VerifiesAuthTLS, Rules: introspected.Rules, TenantsBreakPostgres: introspected.TenantsBreakPostgres,
		ServesModelID: introspected.ServesModelID, HostForWorkers: introspected.HostForWorkers, WritesConfig: introspected.WritesConfig,
		APIsMustBeServed: introspected.APIsMustBeServed,
		APIs:             introspected.APIs, InternalAPIs: introspected.Internal,
		Sections: catalogFields(introspected.Sections),
		Backends: map[string]catalog.Backend{}, Stores: map[string]catalog.Store{}, Rows: map[string][]catalog.Provider{},
	}
	for _, section := range convertedSections {
		field := line.Sections[section]
		field.Object = ""
		line.Sections[section] = field
	}
	for kind, backend := range introspected.Storage.Backends {
		manual, err := over.backend(release, kind)
		if err != nil {
			return nil, err
		}
		line.Backends[kind] = catalog.Backend{
			Credentials: manual.Credentials, LogsPassword: manual.Echoed, Instead: manual.Instead, Environment: manual.Environment,
			Fields: catalogFields(backend.Fields),
		}
	}
	for name, store := range introspected.Storage.Stores {
		entry := catalog.Store{Kind: store.Store, Object: store.Object}
		if location, ok := store.Default[store.Store.LocationField()].(string); ok {
			entry.Default = location
		}
		line.Stores[name] = entry
	}
	fillStores(line, introspected.Starter)
	for api, types := range introspected.Providers {
		for _, providerType := range slices.Sorted(maps.Keys(types)) {
			row, err := assembleRow(release, api, providerType, types[providerType], over)
			if err != nil {
				return nil, err
			}
			line.Rows[api] = append(line.Rows[api], *row)
		}
	}
	if err := assembleAuth(line, introspected, over); err != nil {
		return nil, err
	}
	var err error
	if line.Lists, err = over.lists(release); err != nil {
		return nil, err
	}
	addReachableObjects(line, introspected.Objects)
	if err := line.Check(); err != nil {
		return nil, err
	}
	return line, nil
}

// fillStores sets the location of stores without a default to that of the packaged starter.
func fillStores(line *catalog.Line, starter map[string]any) {
	section, _ := starter["storage"].(map[string]any)
	stores, _ := section["stores"].(map[string]any)
	for name, store := range line.Stores {
		configured, _ := stores[name].(map[string]any)
		if location, ok := configured[store.Kind.LocationField()].(string); ok && store.Default == "" {
			store.Default = location
			line.Stores[name] = store
		}
	}
}

func assembleRow(release, api, providerType string, p provider, over *overlay) (*catalog.Provider, error) {
	manual, ok, err := over.row(release, api, providerType)
	if err != nil {
		return nil, err
	}
	if !ok {
		if slices.Contains(configurable, api) {
			return nil, fmt.Errorf("overlay.yaml has no row for %s of API %s: add one", providerType, api)
		}
		manual = &row{}
	}
	if p.ToolGroup == "" {
		p.ToolGroup = manual.ToolGroup
	}
	fields := catalogFields(p.Fields)
	for _, name := range manual.Requires {
		field, known := fields[name]
		if !known {
			return nil, fmt.Errorf(
				"overlay: %s %s requires %s, which release %s does not know",
				api,
				providerType,
				name,
				release,
			)
		}
		field.Required = true
		fields[name] = field
	}
	return &catalog.Provider{
		Type: providerType, Source: manual.Source, Endpoint: manual.Endpoint, Key: manual.Key, Region: manual.Region,
		DeploymentName: manual.DeploymentName, DeploymentIsModel: manual.DeploymentIsModel, ToolGroup: p.ToolGroup, Needs: p.Needs, Uses: p.Uses,
		Deprecated: p.Deprecated, Refused: p.Refused,
		DataPath: manual.DataPath, Instead: manual.Instead, Example: manual.Example, Environment: manual.Environment, Fields: fields,
	}, nil
}

// assembleAuth replaces the union server.auth.provider_config by a row for each of its classes, which the field type
// selects.
func assembleAuth(line *catalog.Line, introspected *introspection, over *overlay) error {
	server := introspected.Objects[line.Sections["server"].Object]
	auth := introspected.Objects[server["auth"].Object]
	union, ok := auth["provider_config"]
	if !ok {
		return nil
	}
	classes := catalogFields(introspected.Objects[union.Object])
	for _, authType := range slices.Sorted(slices.Values(classes["type"].Values)) {
		manual, err := over.auth(line.Release, authType)
		if err != nil {
			return err
		}
		fields := catalog.FieldsForKind(classes, func(string) string { return authType })
		for name, field := range fields {
			field.Only = nil
			fields[name] = field
		}
		delete(fields, "type")
		row := catalog.AuthType{
			Type: authType, Short: manual.Short, Source: manual.Source, OneOf: manual.OneOf, Example: manual.Example,
			InCluster: manual.InCluster, Fields: fields,
		}
		known := func(name string) bool { _, ok := fields[name]; return name == "" || ok }
		row.Networks = slices.DeleteFunc(manual.Networks, func(name string) bool { return !known(name) })
		row.Advice = slices.DeleteFunc(
			manual.Advice,
			func(a catalog.Advice) bool { return !known(a.Field) || !known(a.With) },
		)
		// An older release line's row omits a field of a later release.
		if known(manual.Tenant) {
			row.Tenant = manual.Tenant
		}
		row.Secrets = manual.Secrets
		line.Auth = append(line.Auth, row)
	}
	union.Object = ""
	auth["provider_config"] = union
	return nil
}

func catalogFields(fields map[string]field) map[string]catalog.Field {
	converted := make(map[string]catalog.Field, len(fields))
	for name, f := range fields {
		converted[name] = f.catalogField()
	}
	return converted
}

// addReachableObjects adds the objects that the release line's fields refer to, directly or through other objects.
func addReachableObjects(line *catalog.Line, objects map[string]map[string]field) {
	line.Objects = map[string]map[string]catalog.Field{}
	var visit func(fields map[string]catalog.Field)
	add := func(name string) {
		if _, exists := line.Objects[name]; name != "" && !exists {
			line.Objects[name] = catalogFields(objects[name])
			visit(line.Objects[name])
		}
	}
	visit = func(fields map[string]catalog.Field) {
		for _, f := range fields {
			add(f.Object)
		}
	}
	visit(line.Sections)
	for _, store := range line.Stores {
		add(store.Object)
	}
	for i := range line.Auth {
		visit(line.Auth[i].Fields)
	}
	for _, rows := range line.Rows {
		for i := range rows {
			visit(rows[i].Fields)
		}
	}
}
