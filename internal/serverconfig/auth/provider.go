// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/address"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/parse"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/provider"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/release"
)

// fieldVerifyTLS is the field that controls the verification of the issuer's certificate.
const fieldVerifyTLS = "verify_tls"

// fieldCAFile is the field with the path of the issuer's CA certificates.
const fieldCAFile = "tls_cafile"

// SecretUses returns the keys of Secrets that spec.auth refers to.
func SecretUses(spec *parse.Auth) []environment.SecretUse {
	if spec == nil {
		return nil
	}
	uses := make([]environment.SecretUse, 0, len(spec.SecretRefs))
	for _, ref := range spec.SecretRefs {
		uses = append(uses, environment.SecretUse{EnvName: environment.Name("auth", ref.Field), Ref: ref.Ref, Path: ref.Path})
	}
	return uses
}

// resolveProvider validates the type with its settings and secretRefs.
func (s *step) resolveProvider(env *environment.Set) {
	if s.spec.Type == "" {
		s.checkWithoutType()
		return
	}
	row, ok := s.line.AuthType(s.spec.Type)
	if !ok {
		s.reportUnknownType()
		return
	}
	s.row, s.settings = row, settingsOf(s.spec)
	s.setInClusterDefaults()
	fields := secretFields(row)
	provider.CheckStrictly(s.line, row.Type, fields, s.supportedSettings(), pathSettings, s.problems)
	if s.problems.HasErrors() {
		return // the following checks need valid types
	}
	for _, ref := range s.spec.SecretRefs {
		s.assignSecret(ref, env)
	}
	s.checkRequired(row.Fields, s.settings, pathSettings)
	s.checkOneOf()
	s.checkValues()
	s.warnUnsafe()
	s.warnKeysOfCluster()
}

// settingsOf returns a copy of the settings.
func settingsOf(spec *parse.Auth) map[string]any {
	if spec.Settings == nil {
		return map[string]any{}
	}
	return runtime.DeepCopyJSON(spec.Settings)
}

// supportedSettings returns the settings without those that only other release lines support, which it reports.
func (s *step) supportedSettings() map[string]any {
	known := maps.Clone(s.spec.Settings)
	for _, name := range slices.Sorted(maps.Keys(s.spec.Settings)) {
		has := func(line *catalog.Line) bool {
			row, ok := line.AuthType(s.row.Type)
			if ok {
				_, ok = row.Fields[name]
			}
			return ok
		}
		if has(s.line) || catalog.FirstLine(has) == "" {
			continue
		}
		delete(known, name)
		s.problems.Add(unsupported(pathSettings+"."+name, nil, s.row.Type+" of release line "+s.line.Name+" does not have "+
			"it", has))
	}
	return known
}

// checkWithoutType reports settings and secretRefs without a type, and policies alone if the release line needs a type.
func (s *step) checkWithoutType() {
	for _, part := range []struct {
		name string
		size int
	}{{"settings", len(s.spec.Settings)}, {"secretRefs", len(s.spec.SecretRefs)}} {
		if part.size > 0 {
			s.problems.Add(problem.Problem{
				Reason: problem.MissingField, Path: pathProvider, Type: field.ErrorTypeRequired,
				Detail: root + "." + part.name + " require a type of authentication",
				Fix:    "name one: release line " + s.line.Name + " has " + strings.Join(s.line.AuthNames(), ", "),
			})
			return
		}
	}
	if s.line.AuthFields()[keyProvider].Required && len(s.spec.AccessPolicy)+len(s.spec.RoutePolicy) > 0 &&
		s.baseProvider() == nil {
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: pathProvider, Type: field.ErrorTypeRequired,
			Detail: "a server of release line " + s.line.Name + " does not start with policies alone",
			Fix:    "name a type of authentication: " + strings.Join(s.line.AuthNames(), ", "),
		})
	}
}

// reportUnknownType reports a type that the release line does not have, and the release lines that have it.
func (s *step) reportUnknownType() {
	has := func(line *catalog.Line) bool { _, ok := line.AuthType(s.spec.Type); return ok }
	detail := fmt.Sprintf("a server of release line %s has no authentication of this type", s.line.Name)
	if catalog.FirstLine(has) != "" {
		p := unsupported(pathProvider, s.spec.Type, detail, has)
		p.Fix = "choose another type: " + strings.Join(s.line.AuthNames(), ", ") + release.OtherLines(has)
		s.problems.Add(p)
		return
	}
	var known []string
	for i := range s.line.Auth {
		known = append(known, s.line.Auth[i].Names()...)
	}
	p := problem.Problem{
		Reason: problem.InvalidField, Path: pathProvider, Type: field.ErrorTypeNotSupported, Detail: detail,
		Fix: "it has " + strings.Join(s.line.AuthNames(), ", "),
	}
	if near, ok := problem.Nearest(s.spec.Type, known); ok {
		p.Value, p.Fix = s.spec.Type, fmt.Sprintf("did you mean %q?", near)
	}
	s.problems.Add(p)
}

// unsupported returns the problem of a feature that the release line lacks; the fix names those that have it.
func unsupported(path string, value any, detail string, has func(*catalog.Line) bool) problem.Problem {
	return problem.Problem{
		Reason: problem.UnsupportedByRelease, Path: path, Type: field.ErrorTypeForbidden, Value: value, Detail: detail,
		Fix: "remove it" + release.OtherLines(has),
	}
}

// setInClusterDefaults sets the address of the cluster's API server, unless the settings set it or turn verification
// off.
func (s *step) setInClusterDefaults() {
	for name := range s.row.InCluster {
		if _, given := s.settings[name]; given {
			return
		}
	}
	if verify, given := s.settings[fieldVerifyTLS]; given && verify == false {
		return
	}
	maps.Copy(s.settings, s.row.InCluster)
}

// secretFields returns the fields of a type with its secrets marked. The catalog marks those within maps.
func secretFields(row *catalog.AuthType) map[string]catalog.Field {
	fields := maps.Clone(row.Fields)
	for _, name := range row.Secrets {
		if def, known := fields[name]; known {
			def.Secret = true
			fields[name] = def
		}
	}
	return fields
}

// assignSecret sets a field to an environment reference, and adds the variable.
func (s *step) assignSecret(ref parse.SecretField, env *environment.Set) {
	use := environment.SecretUse{EnvName: environment.Name("auth", ref.Field), Ref: ref.Ref, Path: ref.Path}
	name, item, hasItem := strings.Cut(ref.Field, ".")
	def, known := s.row.Fields[name]
	inner, isInner := s.line.AuthField(s.row, ref.Field)
	reference := document.ReferenceTo(use.EnvName)
	switch {
	case name == fieldCAFile || item == fieldCAFile:
		s.reportSecretForFile(ref)
		return
	case known && def.Type == catalog.TypeList && (!hasItem || item != "" && !strings.Contains(item, ".")):
		list, _ := s.settings[name].([]any)
		s.settings[name] = append(list, reference)
	case isInner && inner.Type == catalog.TypeString && !hasItem:
		if !s.isFree(s.settings, name, ref.Path) {
			return
		}
		s.settings[name] = reference
	case isInner && inner.Type == catalog.TypeString:
		holder, _ := s.settings[name].(map[string]any)
		if holder == nil {
			holder = map[string]any{}
			s.settings[name] = holder
		}
		if !s.isFree(holder, item, ref.Path) {
			return
		}
		holder[item] = reference
	default:
		s.reportUnknownSecretField(ref)
		return
	}
	env.Add(environment.Variable{Name: use.EnvName, Ref: use.Ref, Path: use.Path, Type: catalog.TypeString})
}

// reportSecretForFile reports a Secret for a CA file field: the server would take its content for a path.
func (s *step) reportSecretForFile(ref parse.SecretField) {
	s.problems.Add(problem.Problem{
		Reason: problem.InvalidField, Path: ref.Path, Type: field.ErrorTypeForbidden,
		Detail: "is a file path: the server would use the content of the Secret as the path",
		Fix: "set the CA in spec.networking.tls.caBundle; or mount it with spec.workload.overrides.volumes, and set its " +
			"path in settings",
	})
}

// isFree reports whether a field is unset; otherwise it reports the conflict of settings and secretRefs.
func (s *step) isFree(values map[string]any, name, path string) bool {
	if _, taken := values[name]; !taken {
		return true
	}
	s.problems.Add(problem.Problem{
		Reason: problem.ConflictingFields, Path: path, Type: field.ErrorTypeForbidden, Detail: "is also in settings",
		Fix: "keep one of them",
	})
	return false
}

func (s *step) reportUnknownSecretField(ref parse.SecretField) {
	p := problem.Problem{
		Reason: problem.UnknownField, Path: ref.Path, Type: field.ErrorTypeInvalid,
		Detail: fmt.Sprintf("%s has no secret field of this name on release line %s", s.row.Type, s.line.Name), Fix: "it " +
			"has no secret fields",
	}
	if len(s.row.Secrets) > 0 {
		p.Fix = "it takes " + strings.Join(s.row.Secrets, ", ")
	}
	if near, ok := problem.Nearest(ref.Field, s.row.Secrets); ok {
		p.Fix = fmt.Sprintf("did you mean %q?", near)
	}
	s.problems.Add(p)
}

// checkRequired reports missing fields that the server requires.
func (s *step) checkRequired(fields map[string]catalog.Field, values map[string]any, path string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		def := fields[name]
		value, given := values[name]
		list, isList := value.([]any)
		if def.Required && (!given || value == "" || isList && len(list) == 0) {
			s.problems.Add(problem.Problem{
				Reason: problem.MissingField, Path: path + "." + name, Type: field.ErrorTypeRequired,
				Detail: s.row.Type + " does not work without it",
				Fix:    s.missingFieldFix(path, name, def),
			})
		}
		if inner, ok := value.(map[string]any); ok && def.Object != "" {
			s.checkRequired(s.line.Objects[def.Object], inner, path+"."+name)
		}
	}
}

// missingFieldFix returns the fix for a missing field.
func (s *step) missingFieldFix(path, name string, def catalog.Field) string {
	full := strings.TrimPrefix(strings.TrimPrefix(path, pathSettings)+"."+name, ".")
	if def.Secret || slices.Contains(s.row.Secrets, full) {
		return "put it into a Secret, and refer to it: secretRefs: {" + full + ": {name: <Secret>, key: <key within it>}}"
	}
	if name == "uri" && strings.HasPrefix(full, "jwks.") {
		return "write it under settings. " + s.jwksHint()
	}
	return "write it under settings"
}

// checkOneOf reports an error unless exactly one of the row's OneOf fields is set.
func (s *step) checkOneOf() {
	if len(s.row.OneOf) == 0 {
		return
	}
	var given []string
	for _, name := range s.row.OneOf {
		if _, ok := s.settings[name]; ok {
			given = append(given, name)
		}
	}
	requirement := "exactly one of " + strings.Join(s.row.OneOf, " and ")
	switch {
	case len(given) == 0:
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Path: pathSettings + "." + s.row.OneOf[0], Type: field.ErrorTypeRequired,
			Detail: s.row.Type + " needs " + requirement + ", because the operator does not query the issuer",
			Fix:    "write jwks: {uri: <address of the keys>}. " + s.jwksHint(),
		})
	case len(given) > 1:
		s.problems.Add(problem.Problem{
			Reason: problem.ConflictingFields, Path: pathSettings + "." + given[1], Type: field.ErrorTypeForbidden,
			Detail: s.row.Type + " takes " + requirement, Fix: "keep one of them",
		})
	}
}

// jwksHint says how to find the address of the keys. It includes the issuer only if that is a plain URL.
func (s *step) jwksHint() string {
	issuer, _ := s.settings["issuer"].(string)
	u, err := url.Parse(issuer)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || len(issuer) > 200 {
		issuer = "<issuer>"
	}
	issuer = strings.TrimSuffix(issuer, "/")
	return fmt.Sprintf("It is jwks_uri in %[1]s/.well-known/openid-configuration: "+
		"with dex %[1]s/keys, with Keycloak %[1]s/protocol/openid-connect/certs", issuer)
}

// checkValues checks addresses, networks and the verification of certificates.
func (s *step) checkValues() {
	unverified := provider.IsFalse(s.settings[fieldVerifyTLS])
	if unverified && !s.line.VerifiesAuthTLS {
		s.problems.Add(provider.UnverifiedTLS(pathSettings + "." + fieldVerifyTLS))
	}
	if unverified && s.line.VerifiesAuthTLS {
		s.problems.Add(problem.Problem{
			Reason: problem.UnsupportedByRelease, Path: pathSettings + "." + fieldVerifyTLS, Type: field.ErrorTypeForbidden,
			Value: false,
			Detail: "a server of release line " + s.line.Name + " with TLS exits at startup with status 0 and no message if " +
				"it is set",
			Fix: "remove it, and set the CA of the issuer in spec.networking.tls.caBundle",
		})
	}
	s.checkAddresses(s.settings, pathSettings)
	for _, name := range s.row.Networks {
		networks, given := s.settings[name].([]any)
		if given && len(networks) == 0 {
			s.problems.Add(invalid(pathSettings+"."+name, "the server does not start with an empty list", "name networks, or "+
				"remove the field"))
		}
		for i, network := range networks {
			if text, ok := network.(string); ok && !document.HasReference(text) && !isNetwork(text) {
				s.problems.Add(invalid(fmt.Sprintf("%s.%s[%d]", pathSettings, name, i), "is not a network", "for example "+
					"10.244.0.0/16"))
			}
		}
		s.warnPublicNetworks(pathSettings+"."+name, networks)
	}
}

// checkAddresses checks the fields that hold a URL, by their names.
func (s *step) checkAddresses(values map[string]any, path string) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at := path + "." + name
		switch value := values[name].(type) {
		case map[string]any:
			if s.row.Fields[name].Object != "" {
				s.checkAddresses(value, at)
			}
		case string:
			isAddress := name == "uri" || name == "url" || name == "endpoint" || strings.HasSuffix(name, "_url")
			if isAddress && !document.HasReference(value) && !address.IsURL(value) {
				s.problems.Add(problem.Problem{
					Reason: problem.InvalidField, Path: at, Type: field.ErrorTypeInvalid, Detail: "is not a URL that begins with " +
						"http:// or https://",
					Fix: "write the whole address",
				})
			}
		}
	}
}

// warnUnsafe warns about unset fields that make the type less safe.
func (s *step) warnUnsafe() {
	for _, advice := range s.row.Advice {
		_, given := s.settings[advice.Field]
		_, needed := s.settings[advice.With]
		if given || advice.With != "" && !needed {
			continue
		}
		s.problems.Add(problem.Problem{
			Reason: problem.MissingField, Severity: problem.Warning, Path: pathSettings + "." + advice.Field,
			Detail: advice.Why, Fix: "write it",
		})
	}
}

// apiServerHosts are the names of the API server in the cluster.
var apiServerHosts = []string{
	"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
}

// warnKeysOfCluster warns of keys of the cluster's API server without a token, which it refuses to anonymous callers.
func (s *step) warnKeysOfCluster() {
	jwks, _ := s.settings["jwks"].(map[string]any)
	uri, _ := jwks["uri"].(string)
	u, err := url.Parse(uri)
	if _, given := jwks["token"]; given || err != nil ||
		!slices.Contains(apiServerHosts, u.Hostname()) {
		return
	}
	s.problems.Add(problem.Problem{
		Reason: problem.MissingField, Severity: problem.Warning, Path: pathSettings + ".jwks.token",
		Detail: "is absent, and the API server refuses its keys to anonymous callers, so the server accepts no token",
		Fix: "use provider: kubernetes instead; or put a token of a ServiceAccount into a Secret, and refer to it: " +
			"secretRefs: {jwks.token: {name: <Secret>, key: <key within it>}}; or bind the ClusterRole " +
			"system:service-account-issuer-discovery to the group system:unauthenticated",
	})
}

func invalid(path, detail, fix string) problem.Problem {
	return problem.Problem{Reason: problem.InvalidField, Path: path, Type: field.ErrorTypeInvalid, Detail: detail,
		Fix: fix}
}
