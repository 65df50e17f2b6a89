// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/offline/redact"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
	"github.com/llamastack/llama-stack-k8s-operator/internal/version"
)

// operatorLabels select the operator's pods and Deployments, including shards of the Helm chart.
var operatorLabels = client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(operatorRoles())}

func operatorRoles() labels.Requirement {
	r, err := labels.NewRequirement("control-plane", selection.In,
		[]string{"controller-manager", "controller-manager-shard"})
	if err != nil {
		panic(err) // constant arguments
	}
	return *r
}

type file struct {
	name string
	text []byte
}

type collection struct {
	connection *cluster.Connection
	files      []file
	unread     []string
	// secrets are the values to hide.
	secrets []secret.Value
}

func collect(ctx context.Context, c *cluster.Connection, name, operatorNamespace string) (*collection, error) {
	cr, found, err := c.GetOwned(ctx, name)
	if err != nil {
		return nil, err
	}
	r := &collection{connection: c, unread: found.Unread}
	r.readSecrets(ctx, cr, found)
	cr.SetGroupVersionKind(v1alpha2.GroupVersion.WithKind(v1alpha2.Kind))
	r.object("resource.yaml", cr)
	r.conditions(cr)
	for _, o := range found.Objects {
		r.object("objects/"+kindOf(o)+"-"+o.GetName()+".yaml", o)
	}
	if g := cr.Status.ConfigGeneration; g != nil && g.ConfigMapName != "" {
		r.configMap(ctx, "config.yaml", client.ObjectKey{Namespace: cr.Namespace, Name: g.ConfigMapName})
	}
	for i := range found.Pods {
		p := &found.Pods[i]
		r.object("pods/"+p.Name+".yaml", p)
		r.logs(ctx, p, "pods/")
	}
	r.events(found.Events, cr.Name)
	r.operator(ctx, operatorNamespace)
	r.files = append(r.files, file{"report.txt", r.summary(cr)})
	slices.SortFunc(r.files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return r, nil
}

func kindOf(o client.Object) string {
	kind := fmt.Sprintf("%T", o)
	return kind[strings.LastIndex(kind, ".")+1:]
}

// readSecrets reads the Secrets that the custom resource, its objects and pods refer to, in order to hide their values.
func (r *collection) readSecrets(ctx context.Context, cr *v1alpha2.LlamaStackDistribution, found *cluster.Owned) {
	names := map[string]bool{}
	all := append([]client.Object{cr}, found.Objects...)
	for i := range found.Pods {
		all = append(all, &found.Pods[i])
	}
	for _, o := range all {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			r.unread = append(r.unread, "the names of the Secrets in "+kindOf(o)+" "+o.GetName()+": read the files before you "+
				"send them: "+err.Error())
			continue
		}
		secretsIn(content["spec"], false, names)
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		s := &corev1.Secret{}
		err := r.connection.Client.Get(ctx, client.ObjectKey{Namespace: cr.Namespace, Name: name}, s)
		if err != nil && !apierrors.IsNotFound(err) {
			r.unread = append(r.unread, "Secret "+name+", whose values should be redacted: review the files before you send "+
				"them: "+err.Error())
		}
		for _, value := range s.Data {
			r.secrets = append(r.secrets, secret.New(value))
		}
	}
}

// secretsIn adds the names of Secrets that a value refers to: a field secretName, a name below a field with "secret" in
// its name, or a name next to a key. Extra names are harmless.
func secretsIn(value any, inSecret bool, names map[string]bool) {
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			secretsIn(item, inSecret, names)
		}
	case map[string]any:
		_, hasKey := v["key"].(string)
		for field, child := range v {
			lower := strings.ToLower(field)
			name, isText := child.(string)
			switch {
			case !isText:
				secretsIn(child, inSecret || strings.Contains(lower, "secret"), names)
			case name != "" && (strings.HasSuffix(lower, "secretname") || field == "name" && (inSecret || hasKey)):
				names[name] = true
			}
		}
	}
}

func (r *collection) object(name string, o client.Object) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		r.unread = append(r.unread, name+": "+err.Error())
		return
	}
	r.value(name, content)
}

func (r *collection) value(name string, value any) {
	text, err := yaml.Marshal(r.hidden(redact.Value("", value)))
	if err != nil {
		r.unread = append(r.unread, name+": "+err.Error())
		return
	}
	r.files = append(r.files, file{name, text})
}

// hidden returns a copy of a value with the values of Secrets hidden.
func (r *collection) hidden(value any) any {
	switch v := value.(type) {
	case map[string]any:
		hidden := make(map[string]any, len(v))
		for key, child := range v {
			hidden[key] = r.hidden(child)
		}
		return hidden
	case []any:
		hidden := make([]any, len(v))
		for i, child := range v {
			hidden[i] = r.hidden(child)
		}
		return hidden
	case string:
		for _, child := range r.secrets {
			v = child.HideIn(v, redact.Hidden)
		}
		return v
	}
	return value
}

// configMap adds the data of a ConfigMap, parsed as YAML where possible in order to hide secret fields.
func (r *collection) configMap(ctx context.Context, name string, key client.ObjectKey) {
	cm := &corev1.ConfigMap{}
	if err := r.connection.Client.Get(ctx, key, cm); err != nil {
		r.unread = append(r.unread, "ConfigMap "+key.String()+": "+err.Error())
		return
	}
	content := map[string]any{}
	for dataKey, text := range cm.Data {
		var parsed any
		if err := yaml.Unmarshal([]byte(text), &parsed); err != nil {
			parsed = text
		}
		content[dataKey] = parsed
	}
	r.value(name, content)
}

func (r *collection) conditions(cr *v1alpha2.LlamaStackDistribution) {
	var b bytes.Buffer
	for i := range cr.Status.Conditions {
		c := &cr.Status.Conditions[i]
		fmt.Fprintf(&b, "%s %s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	r.text("conditions.txt", b.String())
}

// text adds text with secrets hidden.
func (r *collection) text(name, text string) {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		end := ""
		if strings.HasSuffix(line, "\n") {
			end = "\n"
		}
		lines[i] = redact.Text(secret.Redact(strings.TrimSuffix(line, "\n"), r.secrets)) + end
	}
	r.files = append(r.files, file{name, []byte(strings.Join(lines, ""))})
}

// events adds the Events about the custom resource and objects whose names begin with its name.
func (r *collection) events(events []corev1.Event, name string) {
	var related []any
	for i := range events {
		e := &events[i]
		if of := e.InvolvedObject.Name; of != name && !strings.HasPrefix(of, name+"-") {
			continue
		}
		raw, err := json.Marshal(e)
		var content any
		if err == nil {
			err = json.Unmarshal(raw, &content)
		}
		if err == nil {
			related = append(related, content)
		}
	}
	r.value("events.yaml", related)
}

const (
	logLines = 2000
	logBytes = 2 << 20
)

// logs adds the current and previous logs of a pod's containers.
func (r *collection) logs(ctx context.Context, p *corev1.Pod, dir string) {
	for i := range p.Status.ContainerStatuses {
		container := &p.Status.ContainerStatuses[i]
		for _, previous := range []bool{false, true} {
			if previous && container.RestartCount == 0 {
				continue
			}
			name := dir + p.Name + "-" + container.Name + ".log"
			if previous {
				name = dir + p.Name + "-" + container.Name + "-previous.log"
			}
			text, err := r.log(ctx, p, &corev1.PodLogOptions{
				Container: container.Name, Previous: previous, TailLines: new(int64(logLines)), LimitBytes: new(int64(logBytes)),
			})
			if err != nil {
				r.unread = append(r.unread, name+": "+err.Error())
				continue
			}
			r.text(name, text)
		}
	}
}

func (r *collection) log(ctx context.Context, p *corev1.Pod, options *corev1.PodLogOptions) (string, error) {
	stream, err := r.connection.Logs(ctx, p.Namespace, p.Name, options)
	if err != nil {
		return "", err
	}
	defer func() { _ = stream.Close() }()
	text, err := io.ReadAll(io.LimitReader(stream, logBytes))
	return string(text), err
}

func (r *collection) operator(ctx context.Context, namespace string) {
	r.configMap(ctx, "operator/settings.yaml", client.ObjectKey{Namespace: namespace, Name: settings.ConfigMapName})
	deployments, pods := &appsv1.DeploymentList{}, &corev1.PodList{}
	for name, list := range map[string]client.ObjectList{"the operator's Deployment": deployments,
		"the operator's pods": pods} {
		if err := r.connection.Client.List(ctx, list, client.InNamespace(namespace), operatorLabels); err != nil {
			r.unread = append(r.unread, name+": "+err.Error())
		}
	}
	for i := range deployments.Items {
		r.object("operator/"+deployments.Items[i].Name+".yaml", &deployments.Items[i])
	}
	for i := range pods.Items {
		r.logs(ctx, &pods.Items[i], "operator/")
	}
	if len(pods.Items) == 0 {
		r.unread = append(r.unread, "the operator's log: no pods of it in namespace "+namespace+"; name its namespace with "+
			"--operator-namespace")
	}
}

// summary returns the content of report.txt.
func (r *collection) summary(cr *v1alpha2.LlamaStackDistribution) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "LlamaStackDistribution %s/%s\nplugin: %s\n", cr.Namespace, cr.Name, version.Build())
	if v := cr.Status.Version; v != nil {
		fmt.Fprintf(&b, "operator: %s\nserver: %s\n", v.OperatorVersion, v.LlamaStackServerVersion)
	}
	fmt.Fprintf(&b, "phase: %s\n", cr.Status.Phase)
	slices.Sort(r.unread)
	for i, text := range r.unread {
		if i == 0 {
			b.WriteString("\nnot read:\n")
		}
		b.WriteString("  " + redact.Text(text) + "\n")
	}
	return []byte(b.String())
}
