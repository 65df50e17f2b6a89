// SPDX-License-Identifier: Apache-2.0

// Package admission validates a LlamaStackDistribution before it is stored.
//
// It is pure. Validate runs the controller's build.Build: problems that only an edit of the resource can fix become
// errors, other known problems become warnings, transient problems are dropped. Requests from v1alpha1 get warnings
// only. Inputs and results must not reveal the content or existence of the user's Secrets and ConfigMaps.
package admission
