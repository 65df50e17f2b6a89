// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/llamastack/llama-stack-k8s-operator/internal/secret"
)

// ContainerName is the name of the server's container.
const ContainerName = "llama-stack"

// ServicePortName is the name of the Service's port.
const ServicePortName = "http"

// ConfigKey is the key of the generated ConfigMap, and the file name in the pod.
const ConfigKey = "config.yaml"

// The paths in the pod.
const (
	// ConfigDir is where the generated ConfigMap is mounted.
	ConfigDir = "/etc/llama-stack"
	// TmpDir is where the memory for temporary files is mounted.
	TmpDir = "/tmp"
	// CABundleDir is where the CA certificates are mounted, and CABundlePath the file. Release 0.9 had them there, and
	// configurations and variables of the user's own may name the file.
	CABundleDir  = "/etc/ssl/certs/ca-bundle"
	CABundlePath = CABundleDir + "/" + caBundleKey
)

// caBundleKey is the key of the ConfigMap of CA certificates, and the file name in the pod.
const caBundleKey = "ca-bundle.crt"

// derivedSuffix ends the names of derived Secrets, but for the hash.
const derivedSuffix = "-env-"

// The annotations that the operator writes.
const (
	// AnnotationConfigHash on the pod template is the hash of config.yaml: new content rolls the pods.
	AnnotationConfigHash = "llamastack.io/config-hash"
	// AnnotationSecretsHash on the pod template is the keyed hash of the secret values that the pods read, and of what
	// else the user's overrides bring into them from Secrets and ConfigMaps: new content rolls the pods.
	AnnotationSecretsHash = "llamastack.io/secrets-hash"
	// AnnotationCertificateHash on the pod template is the hash of the server's certificate: another one rolls the pods.
	AnnotationCertificateHash = "llamastack.io/certificate-hash"
	// AnnotationInputHash on the Deployment is the keyed hash of everything that it was made from.
	AnnotationInputHash = "llamastack.io/input-hash"
	// AnnotationAdoptedImage on the Deployment is the image that release 0.9 left, while it stays instead of the one that
	// the operator would choose, and AnnotationAdoptedName the name of its distribution.
	AnnotationAdoptedImage = "llamastack.io/adopted-image"
	AnnotationAdoptedName  = "llamastack.io/adopted-name"
	// AnnotationServerLine on the Deployment is the release line of its server: no edit and no upgrade of the operator
	// moves it to another one by itself.
	AnnotationServerLine = "llamastack.io/server-line"
	// AnnotationBuild on the Deployment is the build of the operator that made it.
	AnnotationBuild = "llamastack.io/operator-build"
	// AnnotationCreatedFrom on an object that was created, and not changed by the operator since, is the hash of what it
	// was created from.
	AnnotationCreatedFrom = "llamastack.io/created-from"
)

// nameHashLength is how much of a hash stands in a name.
const nameHashLength = 10

// DeploymentName is the name of the Deployment.
func DeploymentName(resource string) string { return resource }

// ServiceName is the name of the Service.
func ServiceName(resource string) string { return resource + "-service" }

// ServiceAccountName is the name of the ServiceAccount.
func ServiceAccountName(resource string) string { return resource + "-sa" }

// PVCName is the name of the PersistentVolumeClaim.
func PVCName(resource string) string { return resource + "-pvc" }

// AutoscalerName is the name of the HorizontalPodAutoscaler.
func AutoscalerName(resource string) string { return resource + "-hpa" }

// BudgetName is the name of the PodDisruptionBudget.
func BudgetName(resource string) string { return resource + "-pdb" }

// NetworkPolicyName is the name of the NetworkPolicy.
func NetworkPolicyName(resource string) string { return resource + "-network-policy" }

// IngressName is the name of the Ingress.
func IngressName(resource string) string { return resource + "-ingress" }

// RouteName is the name of the Route.
func RouteName(resource string) string { return resource + "-route" }

// HTTPRouteName is the name of the HTTPRoute.
func HTTPRouteName(resource string) string { return resource + "-httproute" }

// ConfigMapName is the name of the generated ConfigMap: the content is part of it, so that a name never changes its
// content.
func ConfigMapName(resource string, content []byte) string {
	if string(content) == secret.OnCluster {
		return resource + "-config-" + secret.OnCluster // what the content is only the operator in its cluster knows
	}
	return fmt.Sprintf("%s-config-%s", resource, hash(content)[:nameHashLength])
}

// CABundleName is the name of the ConfigMap of CA certificates, whose content is part of it.
func CABundleName(resource, content string) string {
	of := secret.OnCluster
	if content != secret.OnCluster {
		of = hash([]byte(content))[:nameHashLength]
	}
	return resource + "-ca-bundle-" + of
}

// DerivedSecretName is the name of the Secret of what was made of secret values; the keyed hash of its content is part
// of it.
func DerivedSecretName(resource, keyedHash string) string {
	if keyedHash != secret.OnCluster {
		keyedHash = keyedHash[:nameHashLength]
	}
	return resource + derivedSuffix + keyedHash
}

// ServiceHost is the DNS name of the Service in its cluster.
func ServiceHost(resource, namespace string) string {
	return ServiceName(resource) + "." + namespace + ".svc"
}

// ServiceURL is the URL of the server inside the cluster.
func ServiceURL(scheme corev1.URIScheme, resource, namespace string, port int32) string {
	return fmt.Sprintf("%s://%s:%d", strings.ToLower(string(scheme)), ServiceHost(resource, namespace), port)
}

// CertificateHash is the hash of a certificate, which everybody may see.
func CertificateHash(certificate []byte) string { return hash(certificate) }

// hash is the hash of a content; that of a content that only the operator in its cluster knows reads so.
func hash(content []byte) string {
	if string(content) == secret.OnCluster {
		return secret.OnCluster
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
