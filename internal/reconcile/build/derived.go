// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"maps"
	"slices"
	"strconv"

	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/dsn"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/environment"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
)

// derive returns the parts of secret values by variable. It skips missing values; unknown ones are secret.OnCluster.
func (d *Desired) derive(in *Inputs) map[string]secret.Value {
	if d.Config == nil {
		return nil
	}
	values := map[string]secret.Value{}
	sources := map[string]*source{}
	for i := range d.Config.Env {
		v := &d.Config.Env[i]
		if v.Part == "" {
			continue
		}
		from, read := sources[v.Path]
		if !read {
			from = d.readSource(in, v)
			sources[v.Path] = from
		}
		if from == nil {
			continue
		}
		value := from.part(v.Part)
		if value.Empty() {
			if v.Part == environment.PostgresPassword && v.Type != "" || v.Part == environment.PostgresURLPassword {
				d.problems.Add(invalid(from.fact, in.CR.Namespace, "has no password, which this server release needs, "+
					"because the server has several databases with passwords"))
			}
			continue
		}
		for _, defect := range from.defects(v, value) {
			d.problems.Add(invalid(from.fact, in.CR.Namespace,
				"has a part that this server release cannot use: "+string(v.Part)+" "+defect))
		}
		values[v.Name] = value
	}
	d.checkSharedTLSMode(in, sources)
	return values
}

// checkSharedTLSMode reports databases with another TLS mode than the one that all PostgreSQL clients of the server
// share on this release line.
func (d *Desired) checkSharedTLSMode(in *Inputs, sources map[string]*source) {
	var shared *source
	for i := range d.Config.Env {
		if v := &d.Config.Env[i]; v.Name == storage.EnvTLSMode && v.Part == environment.PostgresSSLMode {
			shared = sources[v.Path]
		}
	}
	if shared == nil || shared.dsn == nil {
		return
	}
	for _, path := range slices.Sorted(maps.Keys(sources)) {
		if s := sources[path]; s != nil && s.dsn != nil && s.dsn.SSLMode != shared.dsn.SSLMode {
			d.problems.Add(invalid(s.fact, in.CR.Namespace, "has another sslmode than "+shared.fact.Use.Path+
				", but the databases of this server release share it: use the same one"))
		}
	}
}

// source is a secret value with parts.
type source struct {
	fact *SecretFact
	// isKnown is false without a cluster to read the value from.
	isKnown bool
	// hasCABundle reports that CA certificates exist to verify a certificate.
	hasCABundle bool
	// dsn is the parsed value, or nil if it is not a connection string.
	dsn *dsn.DSN
}

// readSource reads and parses the value of a variable, or returns nil if it is unusable.
func (d *Desired) readSource(in *Inputs, v *serverconfig.EnvVar) *source {
	fact := in.secret(v.Path)
	if fact == nil || fact.State != Found || len(fact.Value.TextProblems()) > 0 {
		return nil // already reported
	}
	s := &source{fact: fact, isKnown: !fact.Value.Empty(), hasCABundle: in.trustsBundle()}
	if !s.isKnown || v.Part == environment.RedisPassword {
		return s
	}
	parsed, err := databaseOf(v, fact.Value)
	if err != nil {
		d.problems.Add(invalid(fact, in.CR.Namespace, err.Error()))
		return nil
	}
	if parsed.Verifies() && !in.trustsBundle() {
		d.problems.Add(invalid(fact, in.CR.Namespace, "has sslmode="+parsed.SSLMode+
			", for which the server needs the CA certificate of the database: set a ConfigMap with it in "+
			"spec.networking.tls.caBundle"))
		return nil
	}
	s.dsn = parsed
	return s
}

// databaseOf returns the database of a connection string, or of a password and the parts in the spec.
func databaseOf(v *serverconfig.EnvVar, value secret.Value) (*dsn.DSN, error) {
	if v.Database == nil {
		return dsn.Parse(string(value.Reveal()))
	}
	return &dsn.DSN{Host: v.Database.Host, Port: v.Database.Port, User: v.Database.User, Database: v.Database.Name,
		SSLMode: v.Database.SSLMode, Password: string(value.Reveal())}, nil
}

// defects returns the ways in which the server would change a part by substitution or conversion.
func (s *source) defects(v *serverconfig.EnvVar, value secret.Value) []string {
	if !s.isKnown || v.Type != catalog.TypeString && v.Type != catalog.TypeURL {
		return nil
	}
	defects := value.SubstitutionProblems()
	if converted := value.ConversionProblem(); converted != "" && v.Type == catalog.TypeString {
		defects = append(defects, converted)
	}
	if v.Part == environment.PostgresURLDatabase && bytes.Contains(value.Reveal(), []byte("?")) {
		defects = append(defects, "contains '?', where the server truncates it: use another name")
	}
	return defects
}

func (s *source) part(part serverconfig.Part) secret.Value {
	switch {
	case !s.isKnown && part == environment.PostgresSSLRootCert && !s.hasCABundle:
		return secret.Value{}
	case !s.isKnown:
		return secret.New([]byte(secret.OnCluster))
	}
	return secret.New([]byte(s.text(part)))
}

func (s *source) text(part serverconfig.Part) string {
	if part == environment.RedisPassword {
		return dsn.Encode(string(s.fact.Value.Reveal()))
	}
	switch part {
	case environment.PostgresHost:
		return s.dsn.Host
	case environment.PostgresPort:
		return strconv.Itoa(s.dsn.Port)
	case environment.PostgresDatabase, environment.PostgresURLDatabase:
		return s.dsn.Database
	case environment.PostgresUser:
		return s.dsn.User
	case environment.PostgresURLHost:
		return s.dsn.URLHost()
	case environment.PostgresURLUser:
		return encodeAsText(s.dsn.User)
	case environment.PostgresURLPassword:
		if s.dsn.Password != "" {
			return encodeAsText(s.dsn.Password)
		}
	case environment.PostgresPassword:
		return s.dsn.Password
	case environment.PostgresSSLMode:
		return s.dsn.SSLMode
	case environment.PostgresSSLRootCert:
		if s.dsn.Verifies() {
			return names.CABundlePath
		}
	case environment.PostgresURI:
		return s.dsn.URI(names.CABundlePath)
	case environment.RedisPassword:
	}
	return ""
}

// encodeAsText encodes a text for a URL so that the server does not convert it to a number: it also encodes a digit.
func encodeAsText(text string) string {
	encoded := dsn.Encode(text)
	if secret.New([]byte(encoded)).ConversionProblem() == "" {
		return encoded
	}
	return "%" + strconv.FormatInt(int64(text[0]), 16) + dsn.Encode(text[1:])
}

// derivedName returns the name of the Secret with the parts, with a keyed hash of its content.
func derivedName(in *Inputs, values map[string]secret.Value, env []serverconfig.EnvVar) string {
	h := secret.NewHash(in.HashKey)
	for i := range env {
		if value, ok := values[env[i].Name]; ok {
			h.Text(env[i].Name)
			h.Value(value)
		}
	}
	return names.DerivedSecretName(in.CR.Name, h.Sum())
}

func (in *Inputs) secret(path string) *SecretFact {
	for i := range in.Secrets {
		if in.Secrets[i].Use.Path == path {
			return &in.Secrets[i]
		}
	}
	return nil
}
