// SPDX-License-Identifier: Apache-2.0

// Package convert implements the verb convert, which converts custom resources to the other API version, or to
// OGXServer and back.
//
// It uses the code of the conversion webhook. It prints nothing if a custom resource cannot be converted, or if a field
// would be lost and --accept-loss is not set. Documents of other kinds are printed unchanged; comments are lost.
package convert
