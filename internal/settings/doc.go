// SPDX-License-Identifier: Apache-2.0

// Package settings reads the operator's own settings (the ConfigMap llama-stack-operator-config) and resolves the
// distribution that a resource asks for: to an image, a server release line and a base configuration.
//
// Contract: pure functions over the ConfigMap's data and what the operator embeds. A wrong entry harms only the
// resources that use it; settings that cannot be read at all are a fault of every resource. No registry is asked
// here, and a registered entry always wins over an embedded one of the same name.
package settings
