// SPDX-License-Identifier: Apache-2.0

// Package hostile sends the operator what an attacker would send, and looks whether it shrugs it off.
//
// Contract: the operator's real program runs as the released manifest runs it, with its own permissions and in a control
// group with the memory limit of the manifest, against a real control plane of its own. Each input of the corpus must get a
// clear answer: a denial or a condition that names the field and the bound, or an HTTP status. At the end the operator must
// be the process that was started, must not have used more than 200 MiB, and must have brought other resources' edits into
// force all the time. What each input took is printed as a table.
//
// The tests run in a network namespace of their own in which every address of the Service range is local: so the API server
// reaches the webhooks by their Service, and nothing else is reachable. They need Linux, root and control groups, and fail
// without.
package hostile
