// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
)

// KeyProxy is the key of a YAML ProxySpec: the proxy of all servers and of the operator's requests to registries.
const KeyProxy = "proxy"

func parseProxy(text string) (*v1alpha2.ProxySpec, error) {
	if text == "" {
		return nil, nil
	}
	proxy := &v1alpha2.ProxySpec{}
	err := decode([]byte(text), proxy)
	if err == nil {
		err = ValidateProxy(proxy, nil).ToAggregate()
	}
	if err != nil {
		return nil, fmt.Errorf("ConfigMap %s, key %s: %w", ConfigMapName, KeyProxy, err)
	}
	return proxy, nil
}

// ValidateProxy returns the errors of a proxy. They do not quote URLs, which may contain a password.
func ValidateProxy(p *v1alpha2.ProxySpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, f := range []struct {
		name  string
		value *string
	}{{"httpProxy", p.HTTPProxy}, {"httpsProxy", p.HTTPSProxy}} {
		text := ptr.Deref(f.value, "")
		if text == "" {
			continue
		}
		at := path.Child(f.name)
		parsed, err := url.Parse(text)
		switch {
		case err != nil || parsed.Hostname() == "" || parsed.RawQuery != "" || parsed.Fragment != "" || !hasValidPort(parsed),
			parsed.Scheme != "http" && parsed.Scheme != "https":
			errs = append(errs, field.Invalid(at, "", "must be a URL such as http://proxy.example.com:3128"))
		case parsed.User != nil:
			errs = append(errs, field.Invalid(at, "", "must not contain user information, which would be readable: set the "+
				"variables from a Secret in spec.workload.overrides.env"))
		}
	}
	return append(errs, validateNoProxy(ptr.Deref(p.NoProxy, ""), path.Child("noProxy"))...)
}

// validateNoProxy returns an error for the first entry that clients read as another host than is meant.
func validateNoProxy(list string, at *field.Path) field.ErrorList {
	for entry := range strings.SplitSeq(list, ",") {
		entry = strings.TrimSpace(entry)
		shown := limits.Cut(entry, validation.DNS1123SubdomainMaxLength)
		switch rest, wild := strings.CutPrefix(entry, "*"); {
		case strings.ContainsAny(entry, "; \t\r\n"):
			return field.ErrorList{field.Invalid(at, shown, "separate the entries by commas, such as a.example.com,.svc")}
		case wild && rest != "":
			return field.ErrorList{field.Invalid(at, shown, "not all clients know *: write ."+strings.TrimLeft(shown, "*.")+
				" for all hosts below a domain")}
		case strings.Contains(entry, "://"):
			return field.ErrorList{field.Invalid(at, "", "an entry is a host, not a URL: write a.example.com")}
		}
	}
	return nil
}

func hasValidPort(u *url.URL) bool {
	if u.Port() == "" {
		return true
	}
	n, err := strconv.Atoi(u.Port())
	return err == nil && n > 0 && n < 65536
}

// CompleteProxy returns a proxy with the defaults for its absent fields; nil if there is none.
func CompleteProxy(proxy, defaults *v1alpha2.ProxySpec) *v1alpha2.ProxySpec {
	if defaults == nil || proxy == nil {
		return cmp.Or(proxy, defaults)
	}
	return &v1alpha2.ProxySpec{
		HTTPProxy: cmp.Or(proxy.HTTPProxy, defaults.HTTPProxy), HTTPSProxy: cmp.Or(proxy.HTTPSProxy, defaults.HTTPSProxy),
		NoProxy: cmp.Or(proxy.NoProxy, defaults.NoProxy),
	}
}
