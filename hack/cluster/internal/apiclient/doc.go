// SPDX-License-Identifier: Apache-2.0

// Package apiclient sends JSON to an API server or etcd over TLS, without Kubernetes types and watches.
package apiclient
