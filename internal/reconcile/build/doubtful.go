// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/document"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/storage"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// warnDoubtful warns of values that are valid, and with which a server probably does not work.
func (r *report) warnDoubtful(in *Inputs) {
	r.warnLocalhost(in)
	r.warnHosts(in)
	r.warnMemory(&in.CR.Spec)
	r.checkProxy(in)
	r.warnUnverified(&in.CR.Spec)
	r.warnLiteralSecrets(in)
	r.warnEmptyVariables(in)
}

// use is an address in the spec, to which the server connects.
type use struct{ address, path string }

// uses returns the addresses in the spec: endpoints, settings of providers, tools, authentication and storage. It skips
// those with environment references.
func (in *Inputs) uses() []use {
	var list []use
	add := func(address, path string) {
		if address != "" && !document.HasReference(address) {
			list = append(list, use{address, path})
		}
	}
	for _, group := range in.Spec.Providers {
		for i := range group.Providers {
			p := &group.Providers[i]
			add(p.Endpoint, p.EndpointPath())
			addSettings(p.Settings, p.Path+"."+p.SettingsField, add)
		}
	}
	for i := range in.Spec.Tools {
		add(in.Spec.Tools[i].Endpoint, in.Spec.Tools[i].Path+".endpoint")
	}
	if auth := in.Spec.Auth; auth != nil {
		addSettings(auth.Settings, "spec.auth.settings", add)
		if auth.Type == "kubernetes" && auth.Settings == nil {
			add("https://kubernetes.default.svc", "spec.auth.provider")
		}
	}
	backends := storage.Backends(in.CR.Spec.Storage)
	for i := range backends {
		add(ptr.Deref(backends[i].Endpoint, ""), backends[i].Path+".endpoint")
		add(databaseAddress(ptr.Deref(backends[i].Host, ""), backends[i].Port), backends[i].Path+".host")
	}
	return list
}

// addSettings adds the URLs in the first two levels of settings.
func addSettings(values map[string]any, path string, add func(address, path string)) {
	for _, key := range slices.Sorted(maps.Keys(values)) {
		at := limits.Join(path, "."+key)
		switch value := values[key].(type) {
		case string:
			if strings.Contains(value, "://") {
				add(value, at)
			}
		case map[string]any:
			for _, inner := range slices.Sorted(maps.Keys(value)) {
				if text, ok := value[inner].(string); ok && strings.Contains(text, "://") {
					add(text, limits.Join(at, "."+inner))
				}
			}
		}
	}
}

// host returns the host of an address without its port, in lower case; "" if it is not known.
func (u use) host() string {
	address := u.address
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(parsed.Hostname(), "."))
}

// warnLocalhost warns of backends on localhost, which is the pod itself, unless something else may run there.
func (r *report) warnLocalhost(in *Inputs) {
	if mayHaveOtherProcesses(in.CR.Spec.Workload) {
		return
	}
	for _, u := range in.uses() {
		if isLocal(u.host()) {
			r.warn(problem.NoEffect, u.path, "is an address in the pod of the server itself, not on your machine or on the "+
				"node",
				"write the address of a Service, such as vllm.models.svc; ignore this if a sidecar answers there")
		}
	}
}

// warnHosts warns of hosts that no name server knows, such as the placeholder of an example.
func (r *report) warnHosts(in *Inputs) {
	for _, u := range in.uses() {
		if strings.ContainsAny(u.host(), "<>{}()\"'`|\\^*,;!$&+= ") {
			r.warn(problem.InvalidField, u.path, "has a character that no host name has",
				"write the address of your server, such as http://vllm.models.svc:8000")
		}
	}
}

// isLocal reports whether a host is the one that asks.
func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// mayHaveOtherProcesses reports whether the spec starts another program in the pod, or asks for a sidecar.
func mayHaveOtherProcesses(w *v1alpha2.WorkloadSpec) bool {
	if w == nil {
		return false
	}
	if o := w.Overrides; o != nil && len(o.Command)+len(o.Args)+len(o.Sidecars)+len(o.InitContainers) > 0 {
		return true
	}
	if w.PodMetadata == nil {
		return false
	}
	asks := func(name string) bool { return strings.Contains(name, "inject") || strings.Contains(name, "sidecar") }
	return slices.ContainsFunc(slices.Collect(maps.Keys(w.PodMetadata.Annotations)), asks) ||
		slices.ContainsFunc(slices.Collect(maps.Keys(w.PodMetadata.Labels)), asks)
}

// leastMemory is what one process of a server without inline models and vector stores takes after its start. It was
// measured as 150 to 170 MB.
var leastMemory = resource.MustParse("150Mi")

// warnMemory warns of a limit at which the kernel ends the server while it starts.
func (r *report) warnMemory(spec *v1alpha2.LlamaStackDistributionSpec) {
	w := spec.Workload
	if w == nil || w.Resources == nil {
		return
	}
	limit, limited := w.Resources.Limits[corev1.ResourceMemory]
	workers := int64(max(1, ptr.Deref(w.Workers, 1)))
	if !limited || limit.Value() >= workers*leastMemory.Value() {
		return
	}
	needed := resource.NewQuantity(workers*leastMemory.Value(), resource.BinarySI)
	r.warn(problem.InvalidField, "spec.workload.resources.limits.memory",
		fmt.Sprintf("%s is less than any server needs to start with this number of workers, about %s: the kernel ends it "+
			"(OOMKilled)", limit.String(), needed),
		"set 1Gi or more, or remove the limit")
}

// variable returns the value and the index of the last variable with one of the names; -1 if there is none.
func variable(env []corev1.EnvVar, names ...string) (value string, index int) {
	for i := range slices.Backward(env) {
		if slices.Contains(names, env[i].Name) {
			return env[i].Value, i
		}
	}
	return "", -1
}

// servicesByProxy returns the hosts in the cluster that a proxy for the scheme gets the requests to, sorted.
func (in *Inputs) servicesByProxy(scheme, exceptions string) []string {
	var hosts []string
	for _, u := range in.uses() {
		host := u.host()
		if strings.HasPrefix(u.address, scheme+"://") && isInCluster(host) && !isExcepted(host, exceptions) {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// mayHaveNoProxy reports whether envFrom may set NO_PROXY.
func (in *Inputs) mayHaveNoProxy() bool {
	w := in.CR.Spec.Workload
	if w == nil || w.Overrides == nil {
		return false
	}
	from := w.Overrides.EnvFrom
	for i := range from {
		names := envFromVariables(in, &from[i], i)
		if len(names) == 0 || slices.Contains(names, variableNoProxy) || slices.Contains(names, "no_proxy") {
			return true
		}
	}
	return false
}

// isInCluster reports whether a host is a name of a Service.
func isInCluster(host string) bool {
	return host != "" && host != "localhost" && net.ParseIP(host) == nil && (!strings.Contains(host, ".") ||
		strings.HasSuffix(host, ".svc") || strings.HasSuffix(host, ".cluster.local"))
}

// isExcepted reports whether NO_PROXY excepts a host. It takes the forms of all clients.
func isExcepted(host, noProxy string) bool {
	for entry := range strings.SplitSeq(noProxy, ",") {
		entry = strings.ToLower(strings.TrimSpace(entry))
		if entry == "*" {
			return true
		}
		entry, _, _ = strings.Cut(entry, ":")
		entry = strings.TrimPrefix(strings.TrimPrefix(entry, "*"), ".")
		if entry != "" && (host == entry || strings.HasSuffix(host, "."+entry)) {
			return true
		}
	}
	return false
}

// warnUnverified warns of a variable of the base configuration that turns off the verification of certificates.
func (r *report) warnUnverified(spec *v1alpha2.LlamaStackDistributionSpec) {
	if spec.Workload == nil || spec.Workload.Overrides == nil {
		return
	}
	env := spec.Workload.Overrides.Env
	for i := range env {
		provider, found := strings.CutSuffix(env[i].Name, "_TLS_VERIFY")
		address, _ := variable(env, provider+"_URL")
		if found && slices.Contains([]string{"0", "false", "no", "off"}, strings.ToLower(env[i].Value)) &&
			!strings.HasPrefix(address, "http://") {
			r.warn(problem.Unprotected, fmt.Sprintf("%s.env[%d]", objects.PathOverrides, i), "the server does not verify the "+
				"certificate: everyone on the way can read keys and data, and change them",
				"remove the variable, and set the CA certificates of the other side in "+PathCABundle)
		}
	}
}

// secretVariable matches the names of variables that have credentials.
var secretVariable = regexp.MustCompile(`(?i)(^|_)(API_?KEY|TOKEN|PASSWORD|SECRET|SECRET_KEY|SECRET_ACCESS_KEY)$`)

// minLiteralSecret is the length from which a value is taken for a credential; "fake" and "none" stand for no key.
const minLiteralSecret = 16

// warnLiteralSecrets warns of variables with a credential that is not in a Secret.
func (r *report) warnLiteralSecrets(in *Inputs) {
	for i, v := range in.userVariables() {
		if len(v.Value) >= minLiteralSecret && secretVariable.MatchString(v.Name) && !strings.Contains(v.Value, "$(") {
			r.warn(problem.LiteralSecret, fmt.Sprintf("%s.env[%d].value", objects.PathOverrides, i),
				"is a secret, and anyone who can read the custom resource or its Deployment can read it",
				"put it into a Secret, and refer to it with valueFrom.secretKeyRef")
		}
	}
}

// warnEmptyVariables warns of variables from empty keys of Secrets, which the server treats as unset.
func (r *report) warnEmptyVariables(in *Inputs) {
	for i := range in.PodReferences {
		f := &in.PodReferences[i]
		if f.Ref.Kind == objects.KindSecret && strings.HasSuffix(f.Ref.Path, ".valueFrom.secretKeyRef") &&
			len(f.Values) == 1 && f.Values[0].Empty() {
			r.Add(problem.Problem{
				Reason: problem.InvalidSecret, Severity: problem.Warning, Path: f.Ref.Path,
				Detail: fmt.Sprintf("the value of %s in Secret %s/%s is empty, which the server treats as unset",
					quoteKeys(f.Ref.Keys), f.Ref.Namespace, f.Ref.Name),
				Fix: "set a value, or remove the variable",
			})
		}
	}
}

// warnPortVariables warns of variables for the server's port, and returns the paths of those that it reports.
func (r *report) warnPortVariables(p *objects.Params, dist *settings.Distribution) []string {
	w := p.CR.Spec.Workload
	if w == nil || w.Overrides == nil || len(w.Overrides.Command)+len(w.Overrides.Args) > 0 {
		return nil // the program of the user may read them
	}
	var reported []string
	port := objects.Port(&p.CR.Spec)
	for i := range w.Overrides.Env {
		v := &w.Overrides.Env[i]
		path := fmt.Sprintf("%s.env[%d]", objects.PathOverrides, i)
		switch {
		case !slices.Contains(portVariables(nil), v.Name), v.Value == strconv.Itoa(int(port)):
			continue
		case slices.Contains(p.PortVariables, v.Name):
			r.warn(problem.ConflictingFields, path, fmt.Sprintf("the server listens on the port in %s, but the Service and "+
				"the probes use %d: the pods do not become ready", v.Name, port),
				"remove it, and set spec.networking.port to the port that you want")
		default:
			r.warn(problem.NoEffect, path, fmt.Sprintf("a server of release line %s does not read %s", dist.Line.Name, v.Name),
				"remove it, and set spec.networking.port to the port that you want")
		}
		reported = append(reported, path)
	}
	return reported
}
