// SPDX-License-Identifier: Apache-2.0

package objects_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/llamastack/llama-stack-k8s-operator/internal/objects"
)

// restricted names the rules of the restricted Pod Security Standard (which contains the baseline) that a pod breaks.
// It is stricter than the standard in one point: each rule must be met by the pod itself, not by a default.
func restricted(pod *corev1.PodSpec) []string {
	var broken []string
	check := func(ok bool, rule string) {
		if !ok && !slices.Contains(broken, rule) {
			broken = append(broken, rule)
		}
	}
	check(!pod.HostNetwork && !pod.HostPID && !pod.HostIPC, "host namespaces")
	for i := range pod.Volumes {
		v := &pod.Volumes[i]
		check(v.HostPath == nil, "hostPath volumes")
		check(v.ConfigMap != nil || v.CSI != nil || v.DownwardAPI != nil || v.EmptyDir != nil || v.Ephemeral != nil ||
			v.PersistentVolumeClaim != nil || v.Projected != nil || v.Secret != nil, "volume types")
	}
	podContext := ptr.Deref(pod.SecurityContext, corev1.PodSecurityContext{})
	check(len(podContext.Sysctls) == 0, "sysctls")
	check(podContext.WindowsOptions == nil || !ptr.Deref(podContext.WindowsOptions.HostProcess, false), "host process")
	check(podContext.SELinuxOptions == nil, "SELinux")
	check(podContext.AppArmorProfile == nil || podContext.AppArmorProfile.Type == corev1.AppArmorProfileTypeRuntimeDefault, "AppArmor")
	check(ptr.Deref(podContext.RunAsUser, 1) != 0, "running as non-root user")
	containers := append(slices.Clone(pod.InitContainers), pod.Containers...)
	for i := range containers {
		c := &containers[i]
		own := ptr.Deref(c.SecurityContext, corev1.SecurityContext{})
		capabilities := ptr.Deref(own.Capabilities, corev1.Capabilities{})
		check(!ptr.Deref(own.Privileged, false), "privileged containers")
		check(ptr.Deref(own.ProcMount, corev1.DefaultProcMount) == corev1.DefaultProcMount, "proc mount")
		check(own.SELinuxOptions == nil, "SELinux")
		check(own.WindowsOptions == nil, "host process")
		check(own.AllowPrivilegeEscalation != nil && !*own.AllowPrivilegeEscalation, "privilege escalation")
		check(ptr.Deref(own.RunAsNonRoot, ptr.Deref(podContext.RunAsNonRoot, false)), "running as non-root")
		check(ptr.Deref(own.RunAsUser, 1) != 0, "running as non-root user")
		seccomp := own.SeccompProfile
		if seccomp == nil {
			seccomp = podContext.SeccompProfile
		}
		check(seccomp != nil && (seccomp.Type == corev1.SeccompProfileTypeRuntimeDefault || seccomp.Type == corev1.SeccompProfileTypeLocalhost), "seccomp")
		check(slices.Contains(capabilities.Drop, "ALL"), "capabilities: drop")
		check(len(capabilities.Add) == 0 || slices.Equal(capabilities.Add, []corev1.Capability{"NET_BIND_SERVICE"}), "capabilities: add")
		for _, port := range c.Ports {
			check(port.HostPort == 0, "host ports")
		}
		for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			check(probe == nil || ((probe.HTTPGet == nil || probe.HTTPGet.Host == "") && (probe.TCPSocket == nil || probe.TCPSocket.Host == "")), "host probes")
		}
	}
	return broken
}

// Proves: L-18, R27, R43 (runAsUser only where the cluster assigns none).
func TestRestrictedPodSecurity(t *testing.T) {
	for name, p := range map[string]*objects.Params{
		"Kubernetes": simple(t),
		"OpenShift":  with(t, func(p *objects.Params) { p.ClusterAssignsUserIDs = true }),
		"CA bundle":  with(t, func(p *objects.Params) { p.CABundle = "a certificate" }),
		"external":   with(t, withExternal),
		"plain":      with(t, func(p *objects.Params) { p.Config, p.Env, p.StateDir = nil, nil, "" }),
	} {
		if broken := restricted(pod(p)); len(broken) > 0 {
			t.Errorf("%s: breaks %s", name, strings.Join(broken, ", "))
		}
		if token := pod(p).AutomountServiceAccountToken; token == nil || *token {
			t.Errorf("%s: the pod gets a token for the API server", name)
		}
	}
	onKubernetes := pod(simple(t)).SecurityContext
	for what, id := range map[string]*int64{
		"runAsUser": onKubernetes.RunAsUser, "runAsGroup": onKubernetes.RunAsGroup, "fsGroup": onKubernetes.FSGroup,
	} {
		if ptr.Deref(id, 0) != 1001 {
			t.Errorf("%s = %v, want 1001", what, id)
		}
	}
	p := with(t, func(p *objects.Params) { p.ClusterAssignsUserIDs = true })
	if c := pod(p).SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil || c.FSGroup != nil || server(t, p).SecurityContext.RunAsUser != nil {
		t.Errorf("ids where the cluster assigns them: %+v", c)
	}
}

// Every rule of the check can fail: a check that finds nothing proves nothing.
func TestRestrictedFindsEachRule(t *testing.T) {
	for rule, breakIt := range map[string]func(*corev1.PodSpec, *corev1.Container){
		"host namespaces":  func(p *corev1.PodSpec, _ *corev1.Container) { p.HostPID = true },
		"hostPath volumes": func(p *corev1.PodSpec, _ *corev1.Container) { p.Volumes[0].HostPath = &corev1.HostPathVolumeSource{} },
		"volume types":     func(p *corev1.PodSpec, _ *corev1.Container) { p.Volumes[0].VolumeSource = corev1.VolumeSource{} },
		"sysctls":          func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.Sysctls = []corev1.Sysctl{{}} },
		"SELinux": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext.SELinuxOptions = &corev1.SELinuxOptions{}
		},
		"running as non-root":      func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.RunAsNonRoot = nil },
		"running as non-root user": func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.RunAsUser = new(int64(0)) },
		"privileged containers":    func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.Privileged = new(true) },
		"proc mount": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext.ProcMount = new(corev1.UnmaskedProcMount)
		},
		"privilege escalation": func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.AllowPrivilegeEscalation = nil },
		"seccomp":              func(p *corev1.PodSpec, _ *corev1.Container) { p.SecurityContext.SeccompProfile = nil },
		"capabilities: drop":   func(_ *corev1.PodSpec, c *corev1.Container) { c.SecurityContext.Capabilities.Drop = nil },
		"capabilities: add": func(_ *corev1.PodSpec, c *corev1.Container) {
			c.SecurityContext.Capabilities.Add = []corev1.Capability{"SYS_ADMIN"}
		},
		"host ports":  func(_ *corev1.PodSpec, c *corev1.Container) { c.Ports[0].HostPort = 1 },
		"host probes": func(_ *corev1.PodSpec, c *corev1.Container) { c.ReadinessProbe.HTTPGet.Host = "10.0.0.1" },
	} {
		p := pod(simple(t))
		breakIt(p, &p.Containers[0])
		if got := restricted(p); !slices.Contains(got, rule) {
			t.Errorf("%s: found %v", rule, got)
		}
	}
}
