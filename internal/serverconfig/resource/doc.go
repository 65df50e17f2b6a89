// SPDX-License-Identifier: Apache-2.0

// Package resource applies spec.resources to a configuration: it registers models, shields and vector stores, and
// configures tools. It runs after the providers, and may also change the lists of APIs and connectors, the default
// shield and tool providers.
package resource
