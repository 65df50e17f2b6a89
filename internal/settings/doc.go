// SPDX-License-Identifier: Apache-2.0

// Package settings reads the operator's own settings (the ConfigMap llama-stack-operator-config, and those that
// register a distribution each) and resolves the distribution that a resource asks for: to an image, a server release
// line and a base configuration.
//
// Contract: pure functions over the data of ConfigMaps and what the operator embeds. A wrong registration, in either
// form, harms only the resources that use its name or image, and a text in which registrations cannot be told apart
// those that it may be about. A wrong key about all servers is a fault of every resource. No registry is asked here. A
// ConfigMap of its own wins over an entry of the same name, and both over what is embedded.
package settings
