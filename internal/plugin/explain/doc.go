// SPDX-License-Identifier: Apache-2.0

// Package explain is the verb that looks things up: a field of the custom resource, a provider type, the reason of a
// condition, or an alert.
//
// Contract: everything comes from what the operator itself uses: the CustomResourceDefinition, the catalog of release
// lines, the tables of reasons, and the PrometheusRule. It contacts nobody.
package explain
