// SPDX-License-Identifier: Apache-2.0

// Package cli holds what all verbs of the kubectl plugin share: the streams, and what an exit code means.
//
// Contract: a verb writes its result to Out and everything else to Err, and returns an error made here when what it was
// given is wrong. The streams show what others wrote in a form that neither a terminal nor a runner of workflows acts
// on; results for programs stay valid. It neither ends the process nor knows a particular verb.
package cli
