// SPDX-License-Identifier: Apache-2.0

// Package apiclient sends JSON to an API server or etcd over TLS. It knows no types of Kubernetes and watches nothing.
package apiclient
