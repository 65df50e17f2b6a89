// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha1"
	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/build"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/tests/framework"
)

// growing maps lists and maps of a spec to the measured size: the limit, or thousands without one. In spec, # stands
// for the items; in item, # stands for its number.
var growing = map[string]struct {
	most       int
	spec, item string
}{
	"models":  {limits.Models, `"providers":{"inference":{"provider":"vllm","endpoint":"http://a"}},"resources":{"models":[#]}`, `{"name":"m#","provider":"vllm"}`},
	"shields": {limits.Shields, `"providers":{"safety":{"provider":"llama-guard"}},"resources":{"models":["m"],"shields":[#]}`, `{"id":"s#","model":"m"}`},
	"vector stores": {
		limits.VectorStores, `"providers":{"inference":{"provider":"vllm","endpoint":"http://a"}},"resources":{"models":[{"name":"m","modelType":"embedding",` +
			`"embeddingDimension":4}],"vectorStores":[#]}`, `{"name":"s#","embeddingModel":"m"}`,
	},
	"tools":      {limits.Tools, `"resources":{"tools":[#]}`, `{"name":"mcp::s#","endpoint":"http://a/mcp"}`},
	"providers":  {limits.ProvidersPerAPI, `"providers":{"inference":[#]}`, `{"id":"p#","provider":"vllm","endpoint":"http://a","apiKey":{"name":"s#","key":"k"}}`},
	"settings":   {10_000, `"providers":{"inference":{"provider":"remote::own","settings":{#}}}`, `"k#":"v"`},
	"secretRefs": {limits.References, `"providers":{"inference":{"provider":"remote::own","secretRefs":{#}}}`, `"k#":{"name":"s","key":"k#"}`},
	"disabled":   {limits.DisabledNames, `"disabled":[#]`, `"inferense#"`},
	"env":        {limits.EnvironmentEntries, `"workload":{"overrides":{"env":[#]}}`, `{"name":"V#","value":"v"}`},
	// v1alpha1 has no bound.
	"env of v1alpha1":           {10_000, `"workload":{"overrides":{"env":[#]}}`, `{"name":"V#","value":"v"}`},
	"metrics of an autoscaler":  {50, `"workload":{"autoscaling":{"maxReplicas":2,"metrics":[#]}}`, `{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":5#}}}`},
	"behavior of an autoscaler": {10_000, `"workload":{"autoscaling":{"maxReplicas":2,"behavior":{#}}}`, `"k#":"v"`},
	"CA bundles":                {50, `"networking":{"tls":{"caBundles":[#]}}`, `{"configMapName":"c#","keys":["ca.crt"]}`},
	"sidecars":                  {50, `"workload":{"overrides":{"sidecars":[#]}}`, `{"name":"s#","image":"registry.example/x:1"}`},
	"init containers":           {50, `"workload":{"overrides":{"initContainers":[#]}}`, `{"name":"i#","image":"registry.example/x:1"}`},
	"access modes":              {10_000, `"workload":{"storage":{"accessModes":[#]}}`, `"ReadWriteMany"`},
	"command":                   {limits.Items, `"workload":{"overrides":{"command":[#]}}`, `"a#"`},
	"args":                      {limits.Items, `"workload":{"overrides":{"args":[#]}}`, `"a#"`},
	"volumes":                   {limits.Items, `"workload":{"overrides":{"volumes":[#]}}`, `{"name":"v#","emptyDir":{}}`},
	"volumeMounts":              {limits.Items, `"workload":{"overrides":{"volumes":[{"name":"v","emptyDir":{}}],"volumeMounts":[#]}}`, `{"name":"v","mountPath":"/m#"}`},
	"spread":                    {limits.Items, `"workload":{"replicas":2,"topologySpreadConstraints":[#]}`, `{"maxSkew":1,"topologyKey":"k#","whenUnsatisfiable":"ScheduleAnyway"}`},
	"pods that may call":        {50, `"networking":{"allowedFrom":{"pods":{"matchLabels":{#}}}}`, `"k#":"v"`},
	"egress rules":              {50, `"networking":{"egress":{"mode":"Providers","to":[#]}}`, `{"to":[{"ipBlock":{"cidr":"10.0.#.0/24"}}]}`},
	"namespaces":                {limits.Items, `"networking":{"allowedFrom":{"namespaces":[#]}}`, `"n#"`},
	"labels":                    {limits.Items, `"networking":{"allowedFrom":{"labels":[#]}}`, `"l#"`},
	"expose":                    {100, `"networking":{"expose":{#}}`, `"k#":"v"`},
	"model metadata":            {10_000, `"providers":{"inference":{"provider":"vllm","endpoint":"http://a"}},"resources":{"models":[{"name":"m","metadata":{#}}]}`, `"k#":"v"`},
	"externalProviders":         {10_000, `"externalProviders":{#}`, `"k#":"v"`},
	"accessPolicy":              {limits.PolicyRules, `"auth":{` + authSettings + `,"accessPolicy":[#]}`, `{"permit":{"actions":["read"],"resource":"model::m#"}}`},
	"routePolicy":               {limits.PolicyRules, `"auth":{` + authSettings + `,"routePolicy":[#]}`, `{"permit":{"paths":["/v1/p#"]}}`},
	"auth settings":             {10_000, `"auth":{"provider":"custom","settings":{"endpoint":"https://a.example/v",#}}`, `"k#":"v"`},
	"auth secretRefs":           {limits.References, `"auth":{"provider":"api-key","secretRefs":{#}}`, `"api_keys.u#":{"name":"s","key":"k#"}`},
	"tenancy":                   {10_000, `"auth":{` + authSettings + `,"tenancy":{#}}`, `"k#":"v"`},
	"nodeSelector":              {50, `"workload":{"scheduling":{"nodeSelector":{#}}}`, `"k#":"v"`},
	"tolerations":               {50, `"workload":{"scheduling":{"tolerations":[#]}}`, `{"key":"k#","operator":"Exists"}`},
	"affinity": {
		2_000, `"workload":{"scheduling":{"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[#]}}}}`,
		`{"weight":1,"podAffinityTerm":{"topologyKey":"k#"}}`,
	},
	"resources":        {1_000, `"workload":{"resources":{"requests":{#}}}`, `"example.com/r#":"1"`},
	"imagePullSecrets": {20, `"workload":{"imagePullSecrets":[#]}`, `{"name":"s#"}`},
	"pod labels":       {50, `"workload":{"podMetadata":{"labels":{#}}}`, `"l#":"v"`},
	"pod annotations":  {50, `"workload":{"podMetadata":{"annotations":{#}}}`, `"a#":"v"`},
	"resourceClaims":   {20, `"workload":{"resourceClaims":[#]}`, `{"name":"c#","resourceClaimName":"c#"}`},
	"backends":         {20, `"storage":{"backends":{#}}`, `"kv#":{"type":"kv_postgres","connectionString":{"name":"s","key":"k#"}}`},
	"stores":           {20, `"storage":{"stores":{#}}`, `"s#":{"backend":"sql_default"}`},
	"envFrom":          {20, `"workload":{"overrides":{"envFrom":[#]}}`, `{"secretRef":{"name":"s#"}}`},
}

const authSettings = `"provider":"custom","settings":{"endpoint":"https://a.example/v"}`

// repeatItems returns a custom resource with count items.
func repeatItems(spec, item string, count int) []byte {
	text := `{"distribution":{"name":"starter"},` + strings.Replace(spec, "#", items(item, count), 1) + `}`
	return []byte(strings.Replace(objectWith(text), `"name":"s"`, `"name":"s","namespace":"ai","uid":"1",`+
		`"annotations":{"llamastack.io/conversion":"{\"version\":1,\"origin\":\"v1alpha1\"}"}`, 1))
}

// items returns count items, separated by commas.
func items(item string, count int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = strings.ReplaceAll(item, "#", strconv.Itoa(i))
	}
	return strings.Join(list, ",")
}

// facts returns the inputs in a cluster with all Secrets and the default settings.
func facts(known *settings.Settings, cr *v1alpha2.LlamaStackDistribution) *build.Inputs {
	distribution, _ := known.ResolveWithHints(&cr.Spec.Distribution, build.Hints(build.NewInputs(cr), ""))
	in := build.NewInputs(cr)
	in.Distribution, in.HashKey, in.Build = distribution, secret.New([]byte("0123456789abcdef0123456789abcdef")), "1"
	uses, _ := serverconfig.SecretUses(in.Spec)
	for _, use := range uses {
		in.Secrets = append(in.Secrets, build.SecretFact{Use: use, Value: secret.New([]byte("value"))})
	}
	return in
}

// operations returns the steps of processing a custom resource by name.
func operations(b *testing.B, text []byte) map[string]func() error {
	b.Helper()
	known, err := settings.Parse(nil)
	if err != nil {
		b.Fatal(err)
	}
	validation := &Validation{Gather: func(_ context.Context, cr *v1alpha2.LlamaStackDistribution) (*build.Inputs, problem.List) {
		in := facts(known, cr)
		in.Secrets = nil // admission does not read Secrets
		return in, nil
	}}
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := json.Unmarshal(text, cr); err != nil {
		b.Fatal(err)
	}
	down, err := v1alpha1.ConvertText(b.Context(), text, v1alpha1.GroupVersion.String())
	if err != nil {
		b.Fatal(err)
	}
	review := []byte(reviewFor("v1alpha2", string(text), ""))
	return map[string]func() error{
		"to_v1alpha1": func() error {
			_, err := v1alpha1.ConvertText(b.Context(), text, v1alpha1.GroupVersion.String())
			return err
		},
		"to_v1alpha2": func() error {
			_, err := v1alpha1.ConvertText(b.Context(), down, v1alpha2.GroupVersion.String())
			return err
		},
		"validate": func() error {
			sent, err := validation.read(review)
			if err == nil {
				_, err = sent.Result(b.Context())
			}
			return err
		},
		"build": func() error {
			build.Build(b.Context(), facts(known, cr))
			return nil
		},
	}
}

// BenchmarkGrowth processes a custom resource with half and with all items of each list or map. Linear steps take twice
// as long with all.
//
// Proves: R63.
func BenchmarkGrowth(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(growing)) {
		shape := growing[name]
		for _, count := range []int{shape.most / 2, shape.most} {
			for step, do := range operations(b, repeatItems(shape.spec, shape.item, count)) {
				b.Run(fmt.Sprintf("%s/%s/%d", strings.ReplaceAll(name, " ", "_"), step, count), func(b *testing.B) { measure(b, do) })
			}
		}
	}
}

// BenchmarkLargest processes a custom resource with the most items and values. Its release line has shields; newer ones
// have tenancy instead.
//
// Proves: R63.
func BenchmarkLargest(b *testing.B) {
	list := func(name string) string {
		return items(growing[name].item, growing[name].most)
	}
	text := objectWith(`{"distribution":{"name":"starter"},"providers":{"inference":[` + items(`{"id":"p#","provider":"vllm","endpoint":"http://a",`+
		`"apiKey":{"name":"s#","key":"k"}}`, limits.ProvidersPerAPI-2) + `,{"id":"own","provider":"remote::own","secretRefs":{` +
		items(`"f#":{"name":"f#","key":"k"}`, limits.References-limits.ProvidersPerAPI) + `}},{"id":"vllm","provider":"vllm","endpoint":"http://a","settings":{"network":{` + items(`"k#":"v"`, 6_000) + `}}}],` +
		`"safety":{"provider":"llama-guard"}},"resources":{"models":["m",{"name":"e","provider":"vllm","modelType":"embedding","embeddingDimension":4},` +
		items(`{"name":"m#","provider":"vllm"}`, limits.Models-2) + `],"shields":[` + items(`{"id":"s#","model":"vllm/m"}`, limits.Shields) +
		`],"tools":[` + list("tools") + `],"vectorStores":[` + items(`{"name":"v#","embeddingModel":"e"}`, limits.VectorStores) + `]},"auth":{` + authSettings + `,"accessPolicy":[` + list("accessPolicy") +
		`],"routePolicy":[` + list("routePolicy") + `]}` +
		`,"workload":{"overrides":{"env":[` + list("env") + `],"envFrom":[` + list("envFrom") + `],"volumes":[` + list("volumes") +
		`],"volumeMounts":[` + items(`{"name":"v#","mountPath":"/m#"}`, limits.Items) + `],"command":[` + list("command") + `],"args":[` + list("args") +
		`]},"replicas":2,"podMetadata":{"labels":{` + list("pod labels") + `},"annotations":{` + list("pod annotations") + `}},` +
		`"imagePullSecrets":[` + list("imagePullSecrets") + `],"resourceClaims":[` + list("resourceClaims") + `],"resources":{"requests":{` + list("resources") +
		`}},"topologySpreadConstraints":[` + list("spread") + `],"scheduling":{"nodeSelector":{` + list("nodeSelector") + `},"tolerations":[` + list("tolerations") +
		`],"affinity":{"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[` +
		items(`{"weight":1,"podAffinityTerm":{"topologyKey":"k#"}}`, 16_300) + `]}}}},` +
		`"networking":{"allowedFrom":{"namespaces":[` + list("namespaces") + `],"labels":[` + list("labels") + `]},"expose":{"enabled":true,"hostname":"a.example"}}}`)
	known, err := settings.Parse(nil)
	if err != nil {
		b.Fatal(err)
	}
	cr := &v1alpha2.LlamaStackDistribution{}
	if err := json.Unmarshal([]byte(text), cr); err != nil {
		b.Fatal(err)
	}
	cr.Name, cr.Namespace, cr.UID = "s", "ai", "1"
	if made, problems := build.Build(b.Context(), facts(known, cr)); problems.HasErrors() || len(made.Objects) == 0 {
		b.Fatalf("it is not the largest that is built: %s", problems.Errors().Message())
	}
	var spec struct{ Spec json.RawMessage }
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		b.Fatal(err)
	}
	size, excess := limits.Scan(spec.Spec, limits.Limits{Bytes: len(spec.Spec), Levels: limits.ObjectLevels, Nodes: limits.SpecNodes})
	if excess != nil || size.Nodes < limits.SpecNodes*99/100 {
		b.Fatalf("the spec has %d of %d values: %v", size.Nodes, limits.SpecNodes, excess)
	}
	for step, do := range operations(b, []byte(text)) {
		b.Run(step, func(b *testing.B) { measure(b, do) })
	}
}

func measure(b *testing.B, do func() error) {
	b.ReportAllocs()
	peak, cpu := framework.ReportPeakHeap(b), framework.ReportCPU(b)
	for b.Loop() {
		if err := do(); err != nil {
			b.Fatal(err)
		}
	}
	cpu()
	peak()
}
