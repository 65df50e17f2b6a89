// SPDX-License-Identifier: Apache-2.0

// Package convert is the verb that rewrites resources in the other version of the API, or as OGXServers and back.
//
// Contract: the code of the operator's webhook does it, so what is printed is what a cluster would show, defaults left
// out. Either every resource can be converted, or nothing is printed. Documents of other kinds are printed as they are,
// so that a file can be converted as a whole. It changes no file; comments are lost, as with everything that kubectl
// prints.
package convert
