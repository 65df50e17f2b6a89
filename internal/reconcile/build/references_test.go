// SPDX-License-Identifier: Apache-2.0

package build

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
)

// Proves: R20, L-02, L-23 (References lists all objects of the spec, and the namespaces that only v1alpha1 can name).
func TestReferencesListsEveryKind(t *testing.T) {
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata:
  name: my-stack
  namespace: ai
spec:
  distribution: {name: starter}
  providers:
    inference: {provider: vllm, apiKey: {name: creds, key: token}}
  storage:
    sql: {type: postgres, connectionString: {name: db, key: dsn}}
  networking:
    tls: {caBundle: {configMapName: trusted-ca}}
  workload:
    overrides:
      env:
      - {name: A, valueFrom: {secretKeyRef: {name: more, key: a, optional: true}}}
      - {name: B, valueFrom: {configMapKeyRef: {name: settings, key: b}}}
`), cr); err != nil {
		t.Fatal(err)
	}
	want := []objects.Reference{
		{Kind: "Secret", Namespace: "ai", Name: "db", Keys: []string{"dsn"}, Path: "spec.storage.sql.connectionString"},
		{Kind: "Secret", Namespace: "ai", Name: "creds", Keys: []string{"token"}, Path: "spec.providers.inference.apiKey"},
		{Kind: "ConfigMap", Namespace: "ai", Name: "trusted-ca", Path: "spec.networking.tls.caBundle.configMapName"},
		{Kind: "ConfigMap", Namespace: "ai", Name: "openshift-service-ca.crt", Optional: true},
		{Kind: "Secret", Namespace: "ai", Name: "more", Keys: []string{"a"}, Optional: true, Path: "spec.workload.overrides.env[0].valueFrom.secretKeyRef"},
		{Kind: "ConfigMap", Namespace: "ai", Name: "settings", Keys: []string{"b"}, Path: "spec.workload.overrides.env[1].valueFrom.configMapKeyRef"},
	}
	if diff := cmp.Diff(want, References(cr)); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}

	cr.Spec = v1alpha2.LlamaStackDistributionSpec{OverrideConfig: &v1alpha2.OverrideConfigSpec{ConfigMapName: "mine"}}
	want = []objects.Reference{
		{Kind: "ConfigMap", Namespace: "ai", Name: "mine", Keys: []string{"config.yaml"}, Path: "spec.overrideConfig.configMapName"},
		{Kind: "ConfigMap", Namespace: "ai", Name: "odh-trusted-ca-bundle", Optional: true},
		{Kind: "ConfigMap", Namespace: "ai", Name: "openshift-service-ca.crt", Optional: true},
	}
	if diff := cmp.Diff(want, References(cr)); diff != "" {
		t.Errorf("references (-want +got):\n%s", diff)
	}
}

// listedFields are the fields of the spec that name a Secret or a ConfigMap.
var listedFields = []string{
	"spec.storage.kv.password",
	"spec.storage.kv.connectionString",
	"spec.storage.kv.caBundle.configMapName",
	"spec.storage.sql.connectionString",
	"spec.storage.sql.password",
	"spec.storage.sql.caBundle.configMapName",
	"spec.storage.backends.connectionString",
	"spec.storage.backends.password",
	"spec.storage.backends.caBundle.configMapName",
	"spec.auth.secretRefs",
	"spec.networking.tls.secretName",
	"spec.networking.tls.caBundle.configMapName",
	"spec.networking.tls.caBundles.configMapName",
	"spec.overrideConfig.configMapName",
	"spec.workload.imagePullSecrets",
	"spec.workload.overrides.env.valueFrom.configMapKeyRef",
	"spec.workload.overrides.env.valueFrom.secretKeyRef",
	"spec.workload.overrides.envFrom.configMapRef",
	"spec.workload.overrides.envFrom.secretRef",
	"spec.workload.overrides.volumes.secret",
	"spec.workload.overrides.volumes.configMap",
	"spec.workload.overrides.volumes.projected.sources.secret",
	"spec.workload.overrides.volumes.projected.sources.configMap",
}

// unlistedFields maps fields, by the end of their path, to the reason why References omits them.
var unlistedFields = map[string]string{
	"fieldRef":         "a field of the pod itself",
	"resourceFieldRef": "a field of the pod itself",
	"fileKeyRef":       "a file in a volume of the pod",
	"spec.workload.overrides.volumes.secret.secretName": "a part of a field that is listed",
	"spec.workload.resources.claims":                    "names of spec.workload.resourceClaims",
	"spec.workload.resourceClaims":                      "hardware: the scheduler waits for it and the pod's condition reports it",
	"spec.workload.resourceClaims.resourceClaimName":    "hardware: the scheduler waits for it and the pod's condition reports it",
	"persistentVolumeClaim":                             "a PVC of the user: the scheduler waits for it and the pod's condition reports it",
	"persistentVolumeClaim.claimName":                   "a PVC of the user: the scheduler waits for it and the pod's condition reports it",
	"ephemeral.volumeClaimTemplate.spec.dataSourceRef":  "a volume to copy: the provisioner waits for it",
	"iscsi.secretRef":                                   "credentials of a storage driver, which kubelet reads and no container sees",
	"rbd.secretRef":                                     "credentials of a storage driver, which kubelet reads and no container sees",
	"storage.claimName":                                 "a PVC, which has an index value of its own",
	"modelCache.claimName":                              "a PVC, which has an index value of its own",
	"flexVolume.secretRef":                              "credentials of a storage driver, which kubelet reads and no container sees",
	"cinder.secretRef":                                  "credentials of a storage driver, which kubelet reads and no container sees",
	"cephfs.secretRef":                                  "credentials of a storage driver, which kubelet reads and no container sees",
	"scaleIO.secretRef":                                 "credentials of a storage driver, which kubelet reads and no container sees",
	"storageos.secretRef":                               "credentials of a storage driver, which kubelet reads and no container sees",
	"azureFile.secretName":                              "credentials of a storage driver, which kubelet reads and no container sees",
	"csi.nodePublishSecretRef":                          "credentials of a storage driver, which kubelet reads and no container sees",
}

// referenceFields returns the paths, without indices, of all fields that name an object by type or name.
func referenceFields() []string {
	looksSo := regexp.MustCompile(`(?i)(secret|configmap|ref|claim)(s|names?)?$`)
	var found []string
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		for field := range typ.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "" || name == "-" {
				walk(field.Type, path)
				continue
			}
			at := path + "." + name
			if field.Type == reflect.TypeFor[*v1alpha2.SecretKeyRef]() {
				found = append(found, at) // in both forms
				continue
			}
			if looksSo.MatchString(name) {
				found = append(found, at)
			}
			walk(field.Type, at)
		}
	}
	walk(reflect.TypeFor[v1alpha2.LlamaStackDistributionSpec](), "spec")
	return found
}

// everyReference returns a custom resource with all listedFields except those of storage that exclude others.
func everyReference(t *testing.T) *v1alpha2.LlamaStackDistribution {
	t.Helper()
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := yaml.UnmarshalStrict([]byte(`
metadata: {name: my-stack, namespace: ai}
spec:
  distribution: {name: starter}
  storage:
    kv: {type: redis, endpoint: "redis:6379", password: {name: s, key: k}}
    sql: {type: postgres, connectionString: {name: s, key: k}}
  auth:
    provider: oauth2_token
    secretRefs: {client_secret: {name: s, key: k}}
  networking:
    tls: {enabled: true, secretName: s, caBundle: {configMapName: c}, caBundles: [{configMapName: c}]}
  overrideConfig: {configMapName: c}
  workload:
    imagePullSecrets: [{name: s}]
    overrides:
      env:
      - {name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}
      - {name: B, valueFrom: {configMapKeyRef: {name: c, key: k}}}
      envFrom: [{secretRef: {name: s}}, {configMapRef: {name: c}}]
      volumes:
      - {name: a, secret: {secretName: s}}
      - {name: b, configMap: {name: c}}
      - {name: c, projected: {sources: [{secret: {name: s}}, {configMap: {name: c}}]}}
`), cr); err != nil {
		t.Fatal(err)
	}
	return cr
}

// Proves: R20, L-23 (each field that names a Secret or ConfigMap is listed, or has a reason in unlistedFields).
func TestReferencesCoverEveryReferenceField(t *testing.T) {
	cr := everyReference(t)
	second, third := cr.DeepCopy(), cr.DeepCopy()
	kv, sql := second.Spec.Storage.KV, second.Spec.Storage.SQL
	bundle := &v1alpha2.CABundleConfig{ConfigMapName: "c"}
	sql.Password, sql.Host, sql.ConnectionString, sql.CABundle = kv.Password, new("db"), nil, bundle
	kv.Password, kv.ConnectionString, kv.CABundle = nil, cr.Spec.Storage.SQL.ConnectionString, bundle
	third.Spec.Storage = &v1alpha2.StateStorageSpec{Backends: map[string]v1alpha2.StorageBackend{
		"a": {Type: "sql_postgres", DatabaseConnection: sql.DatabaseConnection},
		"b": {Type: "kv_postgres", DatabaseConnection: kv.DatabaseConnection},
	}}
	listed, index := map[string]bool{}, regexp.MustCompile(`\[[^]]*\]`)
	for _, ref := range slices.Concat(References(cr), References(second), References(third)) {
		listed[index.ReplaceAllString(ref.Path, "")] = true
	}
	fields := referenceFields()
	for _, at := range fields {
		isListed, unlisted := slices.Contains(listedFields, at), false
		for end := range unlistedFields {
			unlisted = unlisted || at == end || strings.HasSuffix(at, "."+end)
		}
		switch {
		case isListed == unlisted:
			t.Errorf("%s names another object, or its name looks so: put it into References and listedFields, or into unlistedFields with the reason", at)
		case isListed && !listed[at]:
			t.Errorf("References does not list %s", at)
		}
	}
	for _, at := range listedFields {
		if !slices.Contains(fields, at) {
			t.Errorf("the spec has no field %s", at)
		}
	}
}

// notAssumed maps the references that AssumeReferencesFound omits to the reason.
var notAssumed = map[string]string{
	PathOverride:                        "each caller fills it in: it may stand in another namespace",
	PathCABundle + ".configMapName":     "each caller fills it in: it may stand in another namespace",
	"":                                  "each caller fills in the platform's: it counts if it exists",
	"spec.workload.imagePullSecrets[0]": "kubelet reads it, and no container sees it",
}

// Proves: R64, L-23 (no reference is reported as missing without a cluster).
func TestLeaveUnreadFillsInEveryReference(t *testing.T) {
	cr := everyReference(t)
	in := NewInputs(cr)
	resolve(t, in, nil)
	in.AssumeReferencesFound()
	filled, secrets := map[string]bool{}, 0
	for i := range in.Secrets {
		filled[in.Secrets[i].Use.Path] = true
	}
	for i := range in.PodReferences {
		filled[in.PodReferences[i].Ref.Path] = true
	}
	if in.Certificate != nil && in.Certificate.State == Unknown {
		filled[PathCertificate] = true
	}
	for i := range in.CABundles {
		filled[in.CABundles[i].reference().Path] = in.CABundles[i].State == Unknown
	}
	for _, ref := range References(cr) {
		_, others := notAssumed[ref.Path]
		if filled[ref.Path] == others {
			t.Errorf("%s is filled in: %t; fill it in, or put it into notAssumed with the reason", ref.Path, filled[ref.Path])
		}
		if ref.Kind == objects.KindSecret && !others {
			secrets++
		}
	}
	if in.SecretCount() != secrets {
		t.Errorf("SecretCount is %d for %d references to Secrets", in.SecretCount(), secrets)
	}
	d, problems := Build(t.Context(), in)
	if waiting := problems.Of(problem.WaitingForDependency); len(waiting) > 0 || d == nil {
		t.Errorf("an unread object is reported as missing: %s", waiting.Message())
	}
}
