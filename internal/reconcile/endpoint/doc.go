// SPDX-License-Identifier: Apache-2.0

// Package endpoint returns the address of a Service or of one of KServe's model servers, from the object.
//
// Addresses in a status are validated: http or https, without user name, query and references to the environment, of
// bounded length. Without TLS it must be a Service, because the server sends its key there and other users may write a
// status.
package endpoint
