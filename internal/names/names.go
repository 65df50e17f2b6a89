// SPDX-License-Identifier: Apache-2.0

package names

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
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

// Paths in the pod.
const (
	// ConfigDir is the mount point of the generated ConfigMap.
	ConfigDir = "/etc/llama-stack"
	// ProviderTLSDir is the mount point of the certificates of providers.
	ProviderTLSDir = "/etc/llama-stack-provider-tls"
	// TmpDir is the mount point of the memory for temporary files.
	TmpDir = "/tmp"
	// CABundleDir is the mount point of the CA certificates, and CABundlePath the file, as in release 0.9.
	CABundleDir  = "/etc/ssl/certs/ca-bundle"
	CABundlePath = CABundleDir + "/" + CABundleKey
)

// CABundleKey is the key of the ConfigMap of CA certificates, and the file name in the pod.
const CABundleKey = "ca-bundle.crt"

const derivedSuffix = "-env-"

// Annotations that the operator writes.
const (
	// AnnotationConfigHash is the hash of config.yaml on the pod template; a change causes a rollout.
	AnnotationConfigHash = "llamastack.io/config-hash"
	// AnnotationSecretsHash is the keyed hash of secret values and other references; a change causes a rollout.
	AnnotationSecretsHash = "llamastack.io/secrets-hash"
	// AnnotationCertificateHash is the hash of the server's certificate; a change causes a rollout.
	AnnotationCertificateHash = "llamastack.io/certificate-hash"
	// AnnotationConfigMapsHash is the keyed hash of referenced ConfigMaps on the Deployment, for the cause of a rollout.
	AnnotationConfigMapsHash = "llamastack.io/configmaps-hash"
	// AnnotationInputHash is the keyed hash of all inputs of the Deployment.
	AnnotationInputHash = "llamastack.io/input-hash"
	// AnnotationAdoptedImage is release 0.9's image while it stays, and AnnotationAdoptedName its distribution.
	AnnotationAdoptedImage = "llamastack.io/adopted-image"
	AnnotationAdoptedName  = "llamastack.io/adopted-name"
	// AnnotationServerLine is the Deployment's release line, which no upgrade of the operator changes.
	AnnotationServerLine = "llamastack.io/server-line"
	// AnnotationBuild is the operator build that made the Deployment.
	AnnotationBuild = "llamastack.io/operator-build"
	// AnnotationFormerInputs is the AnnotationInputHash of the last earlier pod template whose pods were available.
	AnnotationFormerInputs = "llamastack.io/former-inputs"
	// AnnotationRolledBack is the AnnotationInputHash of the pod template that could not start and was rolled back.
	AnnotationRolledBack = "llamastack.io/rolled-back-inputs"
	// AnnotationRollbackCause is why that template could not start.
	AnnotationRollbackCause = "llamastack.io/rollback-cause"
	// AnnotationDatabases has the keyed hashes of the databases of the server's state, on its Deployment.
	AnnotationDatabases = "llamastack.io/databases-hash"
	// AnnotationShare has the host name whose requests the server shares with others, its weight and the port of its
	// Service, on its Deployment.
	AnnotationShare = "llamastack.io/share"
	// AnnotationCreatedFrom is the hash of an object that is unchanged since its creation.
	AnnotationCreatedFrom = "llamastack.io/created-from"
	// AnnotationAdoptedBy is the custom resource that uses an adopted PVC, which is never deleted with it.
	AnnotationAdoptedBy = "llamastack.io/adopted-by"
)

const nameHashLength = 10

// DeploymentName returns the name of the Deployment.
func DeploymentName(resource string) string { return resource }

// ServiceName returns the name of the Service.
func ServiceName(resource string) string { return resource + "-service" }

// ResourceOfService returns the custom resource of a Service.
func ResourceOfService(service string) string { return strings.TrimSuffix(service, "-service") }

// ServiceAccountName returns the name of the ServiceAccount.
func ServiceAccountName(resource string) string { return resource + "-sa" }

// PVCName returns the name of the PersistentVolumeClaim.
func PVCName(resource string) string { return resource + "-pvc" }

// AutoscalerName returns the name of the HorizontalPodAutoscaler.
func AutoscalerName(resource string) string { return resource + "-hpa" }

// BudgetName returns the name of the PodDisruptionBudget.
func BudgetName(resource string) string { return resource + "-pdb" }

// NetworkPolicyName returns the name of the NetworkPolicy.
func NetworkPolicyName(resource string) string { return resource + "-network-policy" }

// IngressName returns the name of the Ingress.
func IngressName(resource string) string { return resource + "-ingress" }

// RouteName returns the name of the Route.
func RouteName(resource string) string { return resource + "-route" }

// HTTPRouteName returns the name of the HTTPRoute.
func HTTPRouteName(resource string) string { return resource + "-httproute" }

// ConfigMapName returns the name of the generated ConfigMap, which includes a hash of its content.
func ConfigMapName(resource string, content []byte) string {
	if string(content) == secret.OnCluster {
		return resource + "-config-" + secret.OnCluster // only the operator in the cluster knows the content
	}
	return fmt.Sprintf("%s-config-%s", resource, ContentHash(content)[:nameHashLength])
}

// CABundleName returns the name of the ConfigMap of CA certificates, which includes a hash of its content.
func CABundleName(resource, content string) string {
	of := secret.OnCluster
	if content != secret.OnCluster {
		of = ContentHash([]byte(content))[:nameHashLength]
	}
	return resource + "-ca-bundle-" + of
}

// DerivedSecretName returns the name of the Secret of derived values, which includes a keyed hash of its content.
func DerivedSecretName(resource, keyedHash string) string {
	if keyedHash != secret.OnCluster {
		keyedHash = keyedHash[:nameHashLength]
	}
	return resource + derivedSuffix + keyedHash
}

var contentHash = regexp.MustCompile(`^[0-9a-f]{10}$`)

// IsDerivedSecret reports whether a Secret has the name of a resource's derived values.
func IsDerivedSecret(resource, name string) bool {
	hash, ok := strings.CutPrefix(name, resource+derivedSuffix)
	return ok && (contentHash.MatchString(hash) || hash == secret.OnCluster)
}

// ServiceHost returns the DNS name of the Service in its cluster.
func ServiceHost(resource, namespace string) string {
	return ServiceName(resource) + "." + namespace + ".svc"
}

// ServiceURL returns the URL of the server in the cluster.
func ServiceURL(scheme corev1.URIScheme, resource, namespace string, port int32) string {
	return fmt.Sprintf("%s://%s:%d", strings.ToLower(string(scheme)), ServiceHost(resource, namespace), port)
}

// CertificateHash returns the hash of a certificate, which is public.
func CertificateHash(certificate []byte) string { return ContentHash(certificate) }

// ContentHash returns the SHA-256 of content in hexadecimal form.
func ContentHash(content []byte) string {
	if string(content) == secret.OnCluster {
		return secret.OnCluster
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
