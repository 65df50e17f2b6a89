// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/objects"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// warnUnauthenticated warns of an exposed server without authentication or encryption. It skips unknown configurations
// and v1alpha1.
func warnUnauthenticated(d *Desired, in *Inputs) {
	known := d.Config != nil || d.Override != nil && string(d.OverrideContent) != secret.OnCluster ||
		d.Override == nil && d.Distribution != nil && d.Distribution.Base != nil
	if !known || !d.Expose.Enabled || d.Edge.Kind == settings.EdgeNone || in.Legacy.FromV1alpha1 ||
		d.problems.HasErrors() {
		return
	}
	switch auth := d.Auth(); {
	case auth.Type == "":
		d.problems.warn(problem.Unprotected, pathExpose, "the server has no authentication: everyone who can reach the "+
			"host can call it",
			"set spec.auth, or ignore this warning if a proxy in front of the server authenticates callers")
	case d.Edge.Kind == settings.EdgeIngress && d.Edge.TLSSecretName == "" && !d.TLS().Enabled():
		d.problems.warn(problem.Unprotected, pathExpose, "the tokens of callers reach the server without encryption: "+
			"neither the Ingress nor the server has TLS",
			"set "+pathExpose+".tls.secretName, or tlsSecretName in the key "+settings.KeyEdge+" of the ConfigMap "+
				settings.ConfigMapName)
	}
}

// refuseOpen refuses to expose a server that is open although its configuration has authentication.
func (d *Desired) refuseOpen(in *Inputs) {
	if !d.Auth().Misplaced || in.Spec.Auth != nil || !d.Expose.Enabled || d.Edge.Kind == settings.EdgeNone {
		return
	}
	subject, fix := "the configuration in spec.overrideConfig", "move auth below server in the file"
	if d.Override == nil {
		subject = "the base configuration " + d.Distribution.Base.Name()
		fix = "set spec.auth, or ask the administrator to move auth below server"
	}
	d.problems.Add(problem.Problem{
		Reason: problem.Unprotected, Path: pathExpose, Type: field.ErrorTypeForbidden,
		Detail: subject + " has authentication where no server reads it, so everyone who reaches the host may call the " +
			"server",
		Fix: fix + ", or do not expose the server",
	})
}

// warnBypassed warns of overrides that may bypass authentication; condition AccessControlled observes the server.
func warnBypassed(d *Desired, in *Inputs) {
	w := in.CR.Spec.Workload
	if w == nil || w.Overrides == nil || d.Auth().Type == "" && in.Spec.Auth == nil {
		return
	}
	o := w.Overrides
	warn := func(path, detail, fix string) {
		d.problems.warn(problem.Unprotected, objects.PathOverrides+path, detail+": the server may then not authenticate "+
			"callers, regardless of its configuration",
			fix+"; the condition AccessControlled reports whether the server requires credentials")
	}
	if len(o.Command) > 0 {
		warn(".command", "replaces the program that starts the server with its configuration",
			"remove it, or let it start the server with the file in $RUN_CONFIG_PATH")
	}
	if len(o.Args) > 0 {
		warn(".args", "can give the server another configuration", "remove it if it sets another configuration")
	}
	for i := range o.Env {
		if name := o.Env[i].Name; objects.SelectsCode(name) {
			warn(fmt.Sprintf(".env[%d]", i), "the variable "+name+" can give the server another configuration or other code",
				"remove it")
		}
	}
	for i := range o.EnvFrom {
		variables := slices.DeleteFunc(envFromVariables(in, &o.EnvFrom[i], i), func(name string) bool {
			return !objects.SelectsCode(name)
		})
		if len(variables) > 0 {
			detail := limits.Names(variables) + " can give the server another configuration or other code"
			warn(fmt.Sprintf(".envFrom[%d]", i), detail, "remove the key from the object, or give the others a prefix")
		}
	}
	for i := range o.VolumeMounts {
		at, mount := path.Join("/", o.VolumeMounts[i].MountPath), fmt.Sprintf(".volumeMounts[%d].mountPath", i)
		switch {
		case strings.HasPrefix(at, names.ConfigDir+"/"):
			warn(mount, "can replace the server's configuration", "mount it elsewhere")
		case slices.ContainsFunc(codeDirs, func(dir string) bool { return isWithin(at, dir) || isWithin(dir, at) }):
			warn(mount, "can replace code of the server's image", "mount it elsewhere, for example below "+mountsDir)
		}
	}
}

// codeDirs are the directories of code in server images, and Python's user site.
var codeDirs = []string{"/app", "/bin", "/lib", "/lib64", "/sbin", "/usr", "/.local"}

func isWithin(at, dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") }
