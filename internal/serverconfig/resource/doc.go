// SPDX-License-Identifier: Apache-2.0

// Package resource applies spec.resources to a configuration: it registers models, shields and vector stores,
// and makes sure of the tools.
//
// Contract: pure. Apply changes the registered resources of the document and what these depend on (the list of APIs,
// connectors, the default shield, a tool provider without configuration), and reports to the collector. It runs after
// the providers are applied. It also says which APIs and models registered resources refer to, for the packages that
// check or remove them.
package resource
