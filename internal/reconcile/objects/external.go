// SPDX-License-Identifier: Apache-2.0

package objects

import (
	_ "embed"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// checkScript fits the packages of external providers to the server's image, whose Python runs it.
//
//go:embed external.py
var checkScript string

const (
	externalVolume = "external-providers"
	externalSize   = "2Gi"
	// externalDir is shared by the pod's containers; the server reads packagesDir and the paths of the image's PYTHONPATH.
	externalDir     = "/opt/llama-stack/external-providers"
	packagesDir     = externalDir + "/python-packages"
	imagePathDir    = externalDir + "/image-path"
	installer       = "/provider-installer"
	programDir      = "bin"
	maxImagePaths   = 4
	pythonPath      = "PYTHONPATH"
	prepareName     = "prepare-providers"
	installerPrefix = "install-provider-"
	checkName       = "check-providers"

	// installerDir is the mount point of the operator's program in a provider's image. Nothing of the image can replace
	// the program there, because the runtime recreates /dev.
	installerDir = "/dev/llama-stack"
)

// ExternalProvider is a provider that comes from its own image.
type ExternalProvider struct {
	// ID is the provider's id and the end of its container's name.
	ID    string
	Image string
	// PullPolicy is the image's pull policy; empty means Kubernetes' default.
	PullPolicy corev1.PullPolicy
	// Module is the Python package that the server loads, and Wheels are files that the image must have.
	Module string
	Wheels []string
}

// externalEnvironment returns PYTHONPATH with the packages, then the image's own paths.
func externalEnvironment(p *Params) []corev1.EnvVar {
	if len(p.External) == 0 {
		return nil
	}
	paths := []string{packagesDir}
	for n := range maxImagePaths {
		paths = append(paths, path.Join(imagePathDir, strconv.Itoa(n)))
	}
	return []corev1.EnvVar{{Name: pythonPath, Value: strings.Join(paths, ":")}}
}

func externalVolumeOf() corev1.Volume {
	return corev1.Volume{Name: externalVolume, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse(externalSize))},
	}}
}

// externalContainers returns the containers that install the providers' packages with the operator's program.
func externalContainers(p *Params) []corev1.Container {
	if len(p.External) == 0 {
		return nil
	}
	list := []corev1.Container{externalContainer(p, prepareName, p.OperatorImage, installer, "prepare", externalDir)}
	for i := range p.External {
		e := &p.External[i]
		command := []string{installerDir + installer, "install", "--provider", e.ID}
		if e.Module != "" {
			command = append(command, "--module", e.Module)
		}
		for _, wheel := range e.Wheels {
			command = append(command, "--wheel", wheel)
		}
		c := externalContainer(p, installerPrefix+e.ID, e.Image, append(command, externalDir)...)
		c.ImagePullPolicy = e.PullPolicy
		c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{
			Name: externalVolume, MountPath: installerDir, SubPath: programDir, ReadOnly: true,
		})
		list = append(list, c)
	}
	return append(list, externalContainer(p, checkName, p.Image, "python3", "-c", checkScript, externalDir))
}

func externalContainer(p *Params, name, image string, command ...string) corev1.Container {
	return corev1.Container{
		Name:                     name,
		Image:                    image,
		Command:                  command,
		VolumeMounts:             []corev1.VolumeMount{{Name: externalVolume, MountPath: externalDir}},
		Resources:                boundedResources(p),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: new(false),
			ReadOnlyRootFilesystem:   new(true),
			Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
	}
}

// boundedResources returns the server's resources with limits, because the container reads untrusted images.
func boundedResources(p *Params) corev1.ResourceRequirements {
	r := sharedResources(p)
	for name, amount := range r.Requests {
		if _, limited := r.Limits[name]; !limited {
			r.Limits = withQuantity(r.Limits, name, amount)
		}
	}
	return r
}
