// SPDX-License-Identifier: Apache-2.0

// Package endpoint returns the address of a Service or of one of KServe's model servers, from the object.
//
// An address in a status must be a plain URL. Without TLS it must be a Service, because the server sends its key there
// and other users may write a status.
package endpoint
