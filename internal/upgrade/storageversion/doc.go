// SPDX-License-Identifier: Apache-2.0

// Package storageversion rewrites the resources that are stored in v1alpha1 in the version that is stored now, and then
// informs the CustomResourceDefinition that no other version is stored any more.
//
// Contract: it changes no resource: the API server writes what it reads, in another form. It can be stopped anywhere
// and begun again, is slow on purpose, does nothing where nothing is to do, and works only in the replica that leads.
// It needs conversion, and waits for it by trying again. It looks at the CRD whenever that changes: someone may put
// back an older one, which stores another version, or one from a backup, while the operator runs.
package storageversion
