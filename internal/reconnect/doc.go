// SPDX-License-Identifier: Apache-2.0

// Package reconnect lets the requests that fill caches wait while the API server cannot be reached, or answers that it cannot serve now, as without
// etcd. So the caches are current a second or two after it is back.
//
// A cache whose request fails backs off: after two minutes without the API server, it asks only every 30 to 60 seconds, and does not see
// an edit until then.
//
// Contract: only lists and watches of caches wait, which may be repeated and have no deadline. Every other request fails as it does
// without this package. Every other answer ends the wait, and two and a half minutes of nothing but such answers do. It decides nothing about who leads.
// Of an answer, the log shows the message of a Status or a text, 1 KiB at most, and never an object, which could be a Secret.
package reconnect
