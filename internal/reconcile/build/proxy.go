// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

const (
	pathProxy       = "spec.networking.proxy"
	variableNoProxy = "NO_PROXY"
)

func (in *Inputs) proxy() *v1alpha2.ProxySpec {
	if n := in.CR.Spec.Networking; n != nil && n.Proxy != nil {
		return n.Proxy
	}
	return &v1alpha2.ProxySpec{}
}

// userVariables returns the variables in spec.workload.overrides.env.
func (in *Inputs) userVariables() []corev1.EnvVar {
	if w := in.CR.Spec.Workload; w != nil && w.Overrides != nil {
		return w.Overrides.Env
	}
	return nil
}

// proxyFor returns the field that sets the proxy for a scheme, or "".
func (in *Inputs) proxyFor(scheme string) string {
	upper := strings.ToUpper(scheme) + "_PROXY"
	env := in.userVariables()
	if _, at := variable(env, upper, strings.ToLower(upper), "ALL_PROXY", "all_proxy"); at >= 0 {
		if env[at].Value == "" && env[at].ValueFrom == nil {
			return ""
		}
		return fmt.Sprintf("%s.env[%d]", objects.PathOverrides, at)
	}
	given, name := in.proxy().HTTPProxy, ".httpProxy"
	if scheme == "https" {
		given, name = in.proxy().HTTPSProxy, ".httpsProxy"
	}
	if ptr.Deref(given, "") == "" {
		return ""
	}
	return pathProxy + name
}

// proxyVariables returns the variables of the proxy. If there is one, NO_PROXY excepts what the server reaches inside
// the cluster, unless the user sets this variable.
func (in *Inputs) proxyVariables() []corev1.EnvVar {
	if in.proxyFor("http") == "" && in.proxyFor("https") == "" {
		return nil
	}
	var list []corev1.EnvVar
	for _, v := range []struct{ name, value string }{
		{"HTTP_PROXY", ptr.Deref(in.proxy().HTTPProxy, "")}, {"HTTPS_PROXY", ptr.Deref(in.proxy().HTTPSProxy, "")},
		{variableNoProxy, in.noProxy()},
	} {
		lower := strings.ToLower(v.name)
		_, at := variable(in.userVariables(), v.name, lower)
		if v.value == "" || at >= 0 || v.name == variableNoProxy && in.mayHaveNoProxy() {
			continue
		}
		list = append(list, corev1.EnvVar{Name: v.name, Value: v.value}, corev1.EnvVar{Name: lower, Value: v.value})
	}
	return list
}

// noProxy returns the hosts without a proxy: those of the spec, the cluster's own, and those that the server reaches
// there.
func (in *Inputs) noProxy() string {
	var list []string
	if given := ptr.Deref(in.proxy().NoProxy, ""); given != "" {
		list = append(list, given)
	}
	service := names.ServiceName(in.CR.Name)
	list = append(list, "localhost", "127.0.0.1", "::1", ".svc", ".cluster.local", "kubernetes.default",
		"$(KUBERNETES_SERVICE_HOST)", service, service+"."+in.CR.Namespace)
	var hosts []string
	for _, u := range in.uses() {
		host := u.host()
		if isInCluster(host) && !isExcepted(host, strings.Join(list, ",")) {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return strings.Join(append(list, slices.Compact(hosts)...), ",")
}

// checkProxy reports an invalid proxy, and a NO_PROXY of the user that sends requests to the cluster's own Services to
// the proxy.
func (r *report) checkProxy(in *Inputs) {
	for _, err := range settings.ValidateProxy(in.proxy(), field.NewPath("spec", "networking", "proxy")) {
		r.invalidField(err.Field, err.BadValue, err.Detail, "correct it")
	}
	env := in.userVariables()
	exceptions, at := variable(env, variableNoProxy, strings.ToLower(variableNoProxy))
	if at < 0 || env[at].ValueFrom != nil || strings.Contains(exceptions, "$(") {
		return
	}
	for _, scheme := range []string{"http", "https"} {
		path := in.proxyFor(scheme)
		if path == "" {
			continue
		}
		hosts := in.servicesByProxy(scheme, exceptions)
		if len(hosts) == 0 {
			continue
		}
		r.warn(problem.MissingField, path, "requests to Services of the cluster go to the proxy, too, because NO_PROXY does "+
			"not name them: "+strings.Join(hosts, ", "), "remove the variable "+env[at].Name+", so that the operator sets "+
			"it, or set "+pathProxy+".noProxy")
		return
	}
}
