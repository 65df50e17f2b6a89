// SPDX-License-Identifier: Apache-2.0

// Package server tests configurations with the real servers of all release lines: base configs, golden configs,
// samples, user stories (testdata/stories) and every provider type. validate.py loads a configuration with the server's
// own code, and boot.py starts servers. No cluster or image is needed, and a missing server is a failure.
//
// Environment: LLSD_SERVER_PYTHON_0_7 (or _0_7_1, the exact release) names an existing Python with the server, PYTHON
// the Python to build with, and LLSD_CACHE the cache. With LLSD_BOOT_EVERYTHING, every story boots on every release.
// Linux only: the doubles listen on many loopback addresses.
package server
