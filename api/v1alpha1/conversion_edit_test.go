// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
)

// edits maps paths to new values in YAML. An empty value removes the field.
type edits map[string]string

func (e edits) apply(t *testing.T, tree map[string]any) {
	t.Helper()
	for path, value := range e {
		names := strings.Split(path, ".")
		if strings.HasPrefix(path, "metadata.annotations.") {
			names = annotationPath
		}
		if value == "" {
			remove(tree, names)
		} else {
			store(tree, names, parseYAML(t, value))
		}
	}
}

// Proves: US-7.2, R22, R53, MIG-ANN, GRACE
func TestEditsOfV1alpha1ObjectsThroughV1alpha2(t *testing.T) {
	t.Parallel()

	s := readSchemas(t)
	for name, test := range map[string]struct {
		spec string
		// edits are applied in order, each through v1alpha2, without a write through v1alpha1 in between.
		edits []edits
		want  string
	}{
		"the namespace of a ConfigMap stays while its name does": {
			`{server: {distribution: {name: starter}, userConfig: {configMapName: a, configMapNamespace: elsewhere}}}`,
			[]edits{{"spec.workload.replicas": "3"}},
			`{replicas: 3, server: {distribution: {name: starter}, userConfig: {configMapName: a, configMapNamespace: elsewhere}}}`,
		},
		"the namespace of a ConfigMap goes with its name": {
			`{server: {distribution: {name: starter}, userConfig: {configMapName: a, configMapNamespace: elsewhere}}}`,
			[]edits{{"spec.overrideConfig.configMapName": "b"}},
			`{replicas: 1, server: {distribution: {name: starter}, userConfig: {configMapName: b}}}`,
		},
		"the namespace of a ConfigMap comes back with its name": {
			`{server: {distribution: {name: starter}, userConfig: {configMapName: a, configMapNamespace: elsewhere}}}`,
			[]edits{{"spec.overrideConfig.configMapName": "b"}, {"spec.overrideConfig.configMapName": "a"}},
			`{replicas: 1, server: {distribution: {name: starter}, userConfig: {configMapName: a, configMapNamespace: elsewhere}}}`,
		},
		"a removed ConfigMap stays removed": {
			`{server: {distribution: {name: starter}, userConfig: {configMapName: a, configMapNamespace: elsewhere}}}`,
			[]edits{{"spec.overrideConfig": "", "spec.providers": "{inference: {provider: vllm}}"}},
			`{replicas: 1, server: {distribution: {name: starter}}}`,
		},
		"the keys of a CA bundle stay while its name does": {
			`{server: {distribution: {}, tlsConfig: {caBundle: {configMapName: ca, configMapNamespace: pki, configMapKeys: [a.crt, b.crt]}}}}`,
			[]edits{{"spec.networking.tls.enabled": "true", "spec.networking.tls.secretName": "cert"}},
			`{replicas: 1, server: {distribution: {}, tlsConfig: {caBundle: {configMapName: ca, configMapNamespace: pki, configMapKeys: [a.crt, b.crt]}}}}`,
		},
		"the keys of a CA bundle go with its name": {
			`{server: {distribution: {}, tlsConfig: {caBundle: {configMapName: ca, configMapNamespace: pki, configMapKeys: [a.crt, b.crt]}}}}`,
			[]edits{{"spec.networking.tls.caBundle.configMapName": "other"}},
			`{replicas: 1, server: {distribution: {}, tlsConfig: {caBundle: {configMapName: other}}}}`,
		},
		"the container's name outlives edits of the container": {
			`{server: {distribution: {}, containerSpec: {name: main, port: 9000}}}`,
			[]edits{{"spec.networking.port": "9001", "spec.workload.overrides.args": "[--verbose]"}},
			`{replicas: 1, server: {distribution: {}, containerSpec: {name: main, port: 9001, args: [--verbose]}}}`,
		},
		"the grace period outlives the removal of all overrides": {
			`{server: {distribution: {}, podOverrides: {terminationGracePeriodSeconds: 0, serviceAccountName: sa}}}`,
			[]edits{{"spec.workload.overrides": ""}},
			`{replicas: 1, server: {distribution: {}, podOverrides: {terminationGracePeriodSeconds: 0}}}`,
		},
		"a negative grace period stays as written": {
			`{server: {distribution: {}, podOverrides: {terminationGracePeriodSeconds: -1}}}`,
			[]edits{{"spec.workload.replicas": "2"}},
			`{replicas: 2, server: {distribution: {}, podOverrides: {terminationGracePeriodSeconds: -1}}}`,
		},
		"a negative grace period gives way to an edit": {
			`{server: {distribution: {}, podOverrides: {terminationGracePeriodSeconds: -1}}}`,
			[]edits{{"spec.workload.terminationGracePeriodSeconds": "60"}},
			`{replicas: 1, server: {distribution: {}, podOverrides: {terminationGracePeriodSeconds: 60}}}`,
		},
		"the default port as written stays": {
			`{server: {distribution: {}, containerSpec: {port: 8321}}}`,
			[]edits{{"spec.workload.workers": "2"}},
			`{replicas: 1, server: {distribution: {}, workers: 2, containerSpec: {name: llama-stack, port: 8321}}}`,
		},
		"the default port gives way to an edit": {
			`{server: {distribution: {}, containerSpec: {port: 8321}}}`,
			[]edits{{"spec.networking.port": "9000"}},
			`{replicas: 1, server: {distribution: {}, containerSpec: {name: llama-stack, port: 9000}}}`,
		},
		"port zero stays zero": {
			`{server: {distribution: {}, containerSpec: {port: 0}}}`,
			[]edits{{"spec.workload.workers": "2"}},
			`{replicas: 1, server: {distribution: {}, workers: 2, containerSpec: {name: llama-stack, port: 0}}}`,
		},
		"port zero gives way to an edit": {
			`{server: {distribution: {}, containerSpec: {port: 0}}}`,
			[]edits{{"spec.networking": "{port: 9000}"}},
			`{replicas: 1, server: {distribution: {}, containerSpec: {name: llama-stack, port: 9000}}}`,
		},
		"an exposed route shows, its host name does not": {
			`{server: {distribution: {}}, network: {allowedFrom: {labels: [a]}}}`,
			[]edits{{"spec.networking.expose": "{hostname: llama.example.com}"}},
			`{replicas: 1, server: {distribution: {}}, network: {exposeRoute: true, allowedFrom: {labels: [a]}}}`,
		},
		"a route that is no longer exposed": {
			`{server: {distribution: {}}, network: {exposeRoute: true, allowedFrom: {namespaces: ["*"]}}}`,
			[]edits{{"spec.networking.expose": "{enabled: false}"}},
			`{replicas: 1, server: {distribution: {}}, network: {exposeRoute: false, allowedFrom: {namespaces: ["*"]}}}`,
		},
		"no autoscaling stays as written": {
			`{server: {distribution: {}, autoscaling: {minReplicas: 1, maxReplicas: 0}}}`,
			[]edits{{"spec.workload.replicas": "2"}},
			`{replicas: 2, server: {distribution: {}, autoscaling: {minReplicas: 1, maxReplicas: 0}}}`,
		},
		"no autoscaling gives way to some": {
			`{server: {distribution: {}, autoscaling: {minReplicas: 1, maxReplicas: 0}}}`,
			[]edits{{"spec.workload.autoscaling": "{maxReplicas: 3}"}},
			`{replicas: 1, server: {distribution: {}, autoscaling: {maxReplicas: 3}}}`,
		},
		"scaled to zero": {
			`{replicas: 2, server: {distribution: {}}}`,
			[]edits{{"spec.workload.replicas": "0"}},
			`{replicas: 0, server: {distribution: {}}}`,
		},
		"empty sections, lists and names are kept": {
			`{server: {distribution: {name: ""}, containerSpec: {env: []}, podOverrides: {}, tlsConfig: {}, storage: {}, podDisruptionBudget: {},
			  userConfig: {configMapName: ""}}, network: {}}`,
			[]edits{{"spec.workload.replicas": "2"}},
			`{replicas: 2, server: {distribution: {name: ""}, containerSpec: {name: llama-stack, env: []}, podOverrides: {}, tlsConfig: {},
			  storage: {}, podDisruptionBudget: {}, userConfig: {configMapName: ""}}, network: {exposeRoute: false}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			original := object(t, `{apiVersion: llamastack.io/v1alpha1, metadata: {name: x}, spec: `+test.spec+`}`)
			s.defaultSpoke(original)
			stored := ToV1alpha2(original)
			s.defaultHub(stored)
			for _, e := range test.edits {
				e.apply(t, stored)
				s.defaultHub(stored)
			}
			shown := FromV1alpha2(stored)
			if diff := cmp.Diff(object(t, test.want), shown["spec"]); diff != "" {
				t.Errorf("the spec in v1alpha1 (- want, + got):\n%s", diff)
			}
		})
	}
}

// Proves: US-7.3, R4, R22, R53, MIG-ANN
func TestEditsOfV1alpha2ObjectsThroughV1alpha1(t *testing.T) {
	t.Parallel()

	s := readSchemas(t)
	for name, test := range map[string]struct {
		spec string
		// edits are applied in order, each through v1alpha1.
		edits []edits
		want  string
	}{
		"what v1alpha1 cannot say stays": {
			`{distribution: {name: starter}, providers: {inference: {provider: vllm, settings: {a: [], b: null}}}, resources: {models: [m]},
			  storage: {kv: {}}, disabled: [], externalProviders: {inference: []}}`,
			[]edits{{"spec.replicas": "2"}},
			`{distribution: {name: starter}, providers: {inference: {provider: vllm, settings: {a: [], b: null}}}, resources: {models: [m]},
			  storage: {kv: {type: sqlite}}, disabled: [], externalProviders: {inference: []}, workload: {replicas: 2}}`,
		},
		"the version stays with the name": {
			`{distribution: {name: starter, version: "1.4"}}`, []edits{{"spec.replicas": "2"}},
			`{distribution: {name: starter, version: "1.4"}, workload: {replicas: 2}}`,
		},
		"the version goes with the name": {
			`{distribution: {name: starter, version: "1.4"}}`, []edits{{"spec.server.distribution.name": "remote-vllm"}},
			`{distribution: {name: remote-vllm}}`,
		},
		"the version of an image stays": {
			`{distribution: {image: "a/b@sha256:0", version: "1.4.0"}}`, []edits{{"spec.server.workers": "2"}},
			`{distribution: {image: "a/b@sha256:0", version: "1.4.0"}, workload: {replicas: 1, workers: 2}}`,
		},
		"a default that v1alpha1 fills in is no edit": {
			`{distribution: {name: starter}}`, []edits{{"spec.replicas": "1"}}, `{distribution: {name: starter}}`,
		},
		"an edit makes the section that it needs": {
			`{distribution: {name: starter}}`, []edits{{"spec.replicas": "3"}}, `{distribution: {name: starter}, workload: {replicas: 3}}`,
		},
		"sections with nothing but defaults stay": {
			`{distribution: {name: starter}, networking: {port: 8321}, workload: {replicas: 1, overrides: {}}}`,
			[]edits{{"spec.server.workers": "2"}},
			`{distribution: {name: starter}, networking: {port: 8321}, workload: {replicas: 1, workers: 2, overrides: {}}}`,
		},
		"the port": {
			`{distribution: {name: starter}, networking: {port: 8321}}`,
			[]edits{{"spec.server.containerSpec.port": "9000"}},
			`{distribution: {name: starter}, networking: {port: 9000}}`,
		},
		"the host name of expose survives switching off": {
			`{distribution: {}, networking: {port: 8321, expose: {enabled: true, hostname: h}}}`,
			[]edits{{"spec.network.exposeRoute": "false"}},
			`{distribution: {}, networking: {port: 8321, expose: {enabled: false, hostname: h}}}`,
		},
		"the host name of expose survives switching off and on": {
			`{distribution: {}, networking: {port: 8321, expose: {hostname: h}}}`,
			[]edits{{"spec.network.exposeRoute": "false"}, {"spec.network.exposeRoute": "true"}},
			`{distribution: {}, networking: {port: 8321, expose: {enabled: true, hostname: h}}}`,
		},
		"expose {} is not rewritten": {
			`{distribution: {}, networking: {port: 8321, expose: {}}}`,
			[]edits{{"spec.replicas": "2"}},
			`{distribution: {}, networking: {port: 8321, expose: {}}, workload: {replicas: 2}}`,
		},
		"expose true, switched off": {
			`{distribution: {}, networking: {port: 8321, expose: true}}`,
			[]edits{{"spec.network": ""}},
			`{distribution: {}}`,
		},
		"expose false, switched on": {
			`{distribution: {}, networking: {port: 8321, expose: false}}`,
			[]edits{{"spec.network": "{exposeRoute: true}"}},
			`{distribution: {}, networking: {port: 8321, expose: true}}`,
		},
		"an odd shape of expose gives way to an edit": {
			`{distribution: {}, networking: {port: 8321, expose: "yes"}}`,
			[]edits{{"spec.network.exposeRoute": "true"}},
			`{distribution: {}, networking: {port: 8321, expose: true}}`,
		},
		"TLS outlives the CA bundle": {
			`{distribution: {}, networking: {port: 8321, tls: {enabled: true, secretName: cert, caBundle: {configMapName: ca}}}}`,
			[]edits{{"spec.server.tlsConfig": ""}},
			`{distribution: {}, networking: {port: 8321, tls: {enabled: true, secretName: cert}}}`,
		},
		"the rest of the PVC stays with an edit of its size": {
			`{distribution: {name: starter}, workload: {replicas: 1, storage: {size: 1Gi, storageClassName: fast, accessModes: [ReadWriteMany], whenDeleted: Retain}}}`,
			[]edits{{"spec.server.storage.size": "2Gi"}},
			`{distribution: {name: starter}, workload: {replicas: 1, storage: {size: 2Gi, storageClassName: fast, accessModes: [ReadWriteMany], whenDeleted: Retain}}}`,
		},
		"metrics of the autoscaler stay": {
			`{distribution: {name: starter}, workload: {replicas: 1, autoscaling: {maxReplicas: 2, metrics: [{type: Resource}], behavior: {scaleDown: {}}}}}`,
			[]edits{{"spec.server.autoscaling.maxReplicas": "3"}},
			`{distribution: {name: starter}, workload: {replicas: 1, autoscaling: {maxReplicas: 3, metrics: [{type: Resource}], behavior: {scaleDown: {}}}}}`,
		},
		"the name of a PVC stays": {
			`{distribution: {name: starter}, workload: {replicas: 1, storage: {claimName: mine}}}`,
			[]edits{{"spec.server.storage.mountPath": "/data"}, {"spec.replicas": "2"}},
			`{distribution: {name: starter}, workload: {replicas: 2, storage: {claimName: mine, mountPath: /data}}}`,
		},
		"the name of a PVC goes with the storage": {
			`{distribution: {name: starter}, workload: {replicas: 1, storage: {claimName: mine}}}`,
			[]edits{{"spec.server.storage": ""}},
			`{distribution: {name: starter}, workload: {replicas: 1}}`,
		},
		"what excludes each other is not decided here": {
			`{distribution: {}, providers: {inference: {provider: vllm}}}`,
			[]edits{{"spec.server.userConfig": "{configMapName: a}"}},
			`{distribution: {}, providers: {inference: {provider: vllm}}, overrideConfig: {configMapName: a}}`,
		},
		"without the annotation only v1alpha1 speaks": {
			`{distribution: {name: starter}, providers: {inference: {provider: vllm}}, workload: {replicas: 1, workers: 2}}`,
			[]edits{{"metadata.annotations." + v1alpha2.ConversionAnnotation: ""}},
			`{distribution: {name: starter}, workload: {replicas: 1, workers: 2}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			stored := object(t, `{apiVersion: llamastack.io/v1alpha2, metadata: {name: x}, spec: `+test.spec+`}`)
			s.defaultHub(stored)
			for _, e := range test.edits {
				shown := FromV1alpha2(stored)
				e.apply(t, shown)
				s.defaultSpoke(shown)
				stored = ToV1alpha2(shown)
				s.defaultHub(stored)
			}
			if diff := cmp.Diff(object(t, test.want), stored["spec"]); diff != "" {
				t.Errorf("the spec in v1alpha2 (- want, + got):\n%s", diff)
			}
		})
	}
}

// Proves: R52, FR-082 (both versions show the conditions of both operators, and no others).
func TestStatusIsTheSameInBothVersions(t *testing.T) {
	t.Parallel()

	status := `{phase: Ready, conditions: [{type: DeploymentReady, status: "True"}, {type: HealthCheck, status: "True"}, {type: Ready, status: "True"}],
	  routeURL: "", replicas: 0, version: {}, distributionConfig: {providers: [{config: {a: [1, 1.5, null]}, health: {message: ""}}]}}`
	for _, version := range []string{"v1alpha1", "v1alpha2"} {
		original := object(t, `{apiVersion: llamastack.io/`+version+`, metadata: {name: x}, spec: {}, status: `+status+`}`)
		to := map[string]string{"v1alpha1": "llamastack.io/v1alpha2", "v1alpha2": "llamastack.io/v1alpha1"}[version]
		converted, err := Convert(original, to)
		if err != nil {
			t.Fatalf("from %s: %v", version, err)
		}
		if diff := cmp.Diff(original["status"], converted["status"]); diff != "" {
			t.Errorf("from %s (- before, + after):\n%s", version, diff)
		}
	}
}
