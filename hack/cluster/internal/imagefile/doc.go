// SPDX-License-Identifier: Apache-2.0

// Package imagefile packs one static program as an image archive and reads image archives. It needs no container engine.
package imagefile
