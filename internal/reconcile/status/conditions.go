// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/names"
	"github.com/llamastack/llama-stack-k8s-operator/internal/problem"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig"
	"github.com/llamastack/llama-stack-k8s-operator/internal/serverconfig/catalog"
	"github.com/llamastack/llama-stack-k8s-operator/internal/settings"
)

// maxMessage bounds a condition's message in bytes, for several problems; the API allows 32 KiB.
const maxMessage = 8 << 10

func set(f *Facts, s *Status, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: limits.Cut(message, maxMessage),
		ObservedGeneration: f.CR.Generation, LastTransitionTime: metav1.NewTime(f.Now),
	})
}

// setErrors sets a condition's errors, if any; the status is Unknown if all are transient.
func setErrors(f *Facts, s *Status, kind string) bool {
	errs := f.Problems.For(kind)
	if len(errs) == 0 {
		return false
	}
	status := metav1.ConditionFalse
	if !errs.Has(problem.Terminal) && !errs.Has(problem.WaitingForDependency) {
		status = metav1.ConditionUnknown
	}
	set(f, s, kind, status, string(errs.Reason()), errs.Message())
	return true
}

func setConfigGenerated(f *Facts, s *Status) {
	const kind = v1alpha2.ConditionConfigGenerated
	if setErrors(f, s, kind) || f.Desired == nil {
		return
	}
	c := f.Desired.Config
	if f.Desired.Override != nil {
		how := "unchanged"
		if f.Desired.OverrideEdited {
			how = "with the number of workers of the spec"
		}
		set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonOverride,
			"The configuration is that of spec.overrideConfig, "+how+note(f)+warnings(f))
		return
	}
	if c == nil {
		set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonImageDefault,
			"Nothing was generated: the spec names only a distribution, whose image runs its own default configuration"+
				note(f)+warnings(f))
		return
	}
	set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonConfigGenerationSucceeded,
		fmt.Sprintf("Generated config.yaml with %s for server release %s%s%s", generated(c), f.Distribution.Line.Name,
			note(f), warnings(f)))
}

// generated counts the spec's entries for a message.
func generated(c *serverconfig.Result) string {
	parts := []string{count(c.ProviderCount, "provider", "providers"), count(c.ModelCount, "model", "models")}
	if c.ShieldCount > 0 {
		parts = append(parts, count(c.ShieldCount, "shield", "shields"))
	}
	if c.VectorStoreCount > 0 {
		parts = append(parts, count(c.VectorStoreCount, "vector store", "vector stores"))
	}
	if c.ToolCount > 0 {
		parts = append(parts, count(c.ToolCount, "tool", "tools"))
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// note returns the suffix of a message that explains an older release line.
func note(f *Facts) string {
	if f.Distribution == nil || f.Distribution.Note == "" {
		return ""
	}
	return "; " + f.Distribution.Note
}

func warnings(f *Facts) string {
	const mark = "; warning: "
	texts := f.Problems.Warnings().Texts()
	if len(texts) == 0 {
		return ""
	}
	return mark + strings.Join(texts, mark)
}

func setSecretsResolved(f *Facts, s *Status) {
	const kind = v1alpha2.ConditionSecretsResolved
	switch {
	case setErrors(f, s, kind) || f.Desired == nil:
	// A reference may be in an unreadable field.
	case f.SecretCount == 0 && f.Problems.For(v1alpha2.ConditionConfigGenerated).Has(problem.Terminal):
	case f.SecretCount == 0:
		set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonNoSecrets, "The spec refers to no Secret")
	default:
		set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonAllSecretsFound,
			//nolint:gosec // a CR has far fewer
			count(int32(f.SecretCount), "secret reference", "secret references")+" resolved")
	}
}

func setDeploymentUpdated(f *Facts, s *Status) {
	const kind = v1alpha2.ConditionDeploymentUpdated
	if setErrors(f, s, kind) {
		return
	}
	if f.Problems.HasErrors() {
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonNotApplied, notApplied(f))
		return
	}
	if f.isRolledBack() {
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonRolledBack, rolledBack(f))
		return
	}
	held := ""
	if f.Desired != nil && f.Desired.HeldBuild != "" {
		held = fmt.Sprintf("; created by operator build %s: the new pod template takes effect with the next edit",
			f.Desired.HeldBuild)
	}
	done, reason, message := rollout(f.Deployment, podReason(f))
	status := metav1.ConditionFalse
	if done {
		status = metav1.ConditionTrue
	}
	if reason == v1alpha2.ReasonRolloutInProgress {
		if reason = rolloutCause(f, s); causes[reason] != "" {
			message = causes[reason] + ". " + message
		}
	}
	set(f, s, kind, status, reason, message+held)
}

func rolledBack(f *Facts) string {
	text := "The pod of the last edit did not start, and the former pod template is back: " + f.Desired.RolledBack +
		"; the edit is tried again when the spec, a referenced Secret or the operator's settings change"
	if done, _, message := rollout(f.Deployment, podReason(f)); !done {
		text += "; the former server: " + message
	}
	return text
}

func notApplied(f *Facts) string {
	return "Nothing was changed: see " + strings.Join(f.Problems.Conditions(), ", ")
}

// refusedPod matches the start of the API server's message, which has a different pod name in each attempt.
var refusedPod = regexp.MustCompile(`^pods "[^"]*" is (forbidden|invalid): `)

func isAvailable(f *Facts) bool {
	d := f.Deployment
	return d != nil && d.Status.AvailableReplicas > 0 &&
		deploymentCondition(d, appsv1.DeploymentAvailable).Status == corev1.ConditionTrue
}

// setAvailable reports the running server, even if the last edit was rejected.
func setAvailable(f *Facts, s *Status) {
	const kind = v1alpha2.ConditionAvailable
	d := f.Deployment
	switch {
	case f.DeploymentUnknown:
		set(f, s, kind, metav1.ConditionUnknown, string(problem.LookupFailed), "The Deployment could not be read; retrying")
	case d == nil:
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonNotDeployed, "The Deployment does not exist yet")
	case isPaused(f):
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonAutoscalingPaused, fmt.Sprintf(
			"The Deployment is scaled to zero, which pauses the HorizontalPodAutoscaler %s; to continue: kubectl -n %s scale "+
				"deployment %s --replicas=1",
			names.AutoscalerName(f.CR.Name), f.CR.Namespace, names.DeploymentName(f.CR.Name)))
	case ptr.Deref(d.Spec.Replicas, 1) == 0:
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonScaledToZero, "The server is scaled to zero")
	case isAvailable(f):
		set(f, s, kind, metav1.ConditionTrue, v1alpha2.ReasonServerAvailable, available(d)+serverNotes(f))
	default:
		set(f, s, kind, metav1.ConditionFalse, v1alpha2.ReasonServerUnavailable, withReason(available(d), podReason(f)))
	}
}

func available(d *appsv1.Deployment) string {
	return fmt.Sprintf("%d of %d pods are available", d.Status.AvailableReplicas, ptr.Deref(d.Spec.Replicas, 1))
}

// serverNotes returns the differences between the server's own report and its configuration.
func serverNotes(f *Facts) string {
	var notes []string
	switch {
	case f.ServerFailure != "":
		notes = append(notes, "the version and providers of the server could not be read: "+f.ServerFailure)
	case f.Server == nil || !f.isApplied():
	default:
		if !matchesLine(f.Server.Version, f.Distribution) {
			notes = append(notes, fmt.Sprintf("the server reports version %s, but release %s was assumed (%s): set "+
				"spec.distribution.version, or register the distribution with its serverVersion in the ConfigMap %s",
				f.Server.Version, f.Distribution.Line.Name, f.Distribution.LineSource, settings.ConfigMapName))
		}
		notes = append(notes, listNotes(f)...)
	}
	if len(notes) == 0 {
		return ""
	}
	return "; " + strings.Join(notes, "; ")
}

func listNotes(f *Facts) (notes []string) {
	missing, resources := missingProviders(f), compare(f)
	if hidden := authenticatedLists(f, resources.hidden); hidden != "" {
		notes = append(notes, hidden)
	}
	if f.Server.Ignored > 0 && !f.Server.ProvidersHidden { // the missing providers may be among these
		missing = nil
		//nolint:gosec // a response has at most 100,000 values
		notes = append(notes, count(int32(f.Server.Ignored), "entry",
			"entries")+
			" of the server's list of providers ignored: duplicate, unnamed, or over the operator's limits")
	}
	if missing = append(missing, resources.missing...); len(missing) > 0 {
		notes = append(notes, "the server does not list: "+limits.Names(missing))
	}
	return append(notes, resources.notes...)
}

// matchesLine reports whether the server's version has the release line that the configuration was made for.
func matchesLine(version string, configured *settings.Distribution) bool {
	if configured.Line == nil {
		return true
	}
	line, standing := catalog.ForVersion(version)
	return line != nil && line.Name == configured.Line.Name &&
		(standing == catalog.KnownLine || configured.Standing == catalog.Newer)
}

// missingProviders returns the configured providers that the server does not list, including the base's.
func missingProviders(f *Facts) []string {
	if f.Desired.Config == nil || f.Server.ProvidersHidden {
		return nil
	}
	listed := make(map[serverconfig.ProviderName]bool, len(f.Server.Providers))
	for _, p := range f.Server.Providers {
		listed[serverconfig.ProviderName{API: p.API, ID: p.ID}] = true
	}
	var missing []string
	for _, name := range f.Desired.Config.Expected {
		if !listed[name] {
			missing = append(missing, name.API+"/"+name.ID)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// SpecApplied is the message of Ready if it is True; remarks follow after "; ".
const SpecApplied = "The spec is applied"

// setReady summarizes the other conditions: the first that is not True, then unknown ones.
func setReady(f *Facts, s *Status) {
	unknown := ""
	for _, kind := range []string{
		v1alpha2.ConditionConfigGenerated, v1alpha2.ConditionSecretsResolved,
		v1alpha2.ConditionDeploymentUpdated, v1alpha2.ConditionAvailable,
	} {
		c := meta.FindStatusCondition(s.Conditions, kind)
		switch {
		case c == nil:
			unknown = cmp.Or(unknown, kind)
		case c.Status == metav1.ConditionTrue || c.Reason == v1alpha2.ReasonScaledToZero:
		default:
			set(f, s, v1alpha2.ConditionReady, c.Status, c.Reason, c.Message)
			return
		}
	}
	if unknown != "" {
		set(f, s, v1alpha2.ConditionReady, metav1.ConditionUnknown, string(problem.LookupFailed), unknown+" is not known yet")
		return
	}
	storage := meta.FindStatusCondition(s.Conditions, v1alpha2.ConditionStorageReachable)
	if storage != nil && storage.Status == metav1.ConditionFalse {
		set(f, s, v1alpha2.ConditionReady, metav1.ConditionFalse, storage.Reason, storage.Message)
		return
	}
	message := SpecApplied
	if f.Exposure.Pending != "" {
		message += "; the server is not exposed yet: " + f.Exposure.Pending
	}
	if meta.IsStatusConditionFalse(s.Conditions, v1alpha2.ConditionAccessControlled) {
		message += "; warning: callers need no credentials: see " + v1alpha2.ConditionAccessControlled
	}
	if isPlainGateway(f) {
		message += "; warning: the tokens of callers reach the Gateway without encryption: attach the HTTPRoute to an " +
			"HTTPS listener"
	}
	reason := v1alpha2.ReasonReady
	if hasNoCallers(f) {
		reason = v1alpha2.ReasonNoCallers
		message += "; warning: " + noCallers(f)
	}
	set(f, s, v1alpha2.ConditionReady, metav1.ConditionTrue, reason, message)
}

// isPlainGateway reports whether callers send tokens to a Gateway listener without TLS. For other edges, build warns.
func isPlainGateway(f *Facts) bool {
	return f.isApplied() && f.Desired.Edge.Kind == settings.EdgeHTTPRoute && f.Desired.Auth().Type != "" &&
		strings.HasPrefix(f.Exposure.URL, "http://")
}

// setStalled reports to kstatus that waiting does not help.
func setStalled(f *Facts, s *Status) {
	if errs := f.Problems.Of(problem.Terminal); len(errs) > 0 && !f.Problems.Has(problem.Transient) {
		set(f, s, v1alpha2.ConditionStalled, metav1.ConditionTrue, string(errs.Reason()), errs.Message())
		return
	}
	if f.isRolledBack() && !f.Problems.HasErrors() {
		set(f, s, v1alpha2.ConditionStalled, metav1.ConditionTrue, v1alpha2.ReasonRolledBack, rolledBack(f))
		return
	}
	meta.RemoveStatusCondition(&s.Conditions, v1alpha2.ConditionStalled)
}

func count(n int32, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
