# SPDX-License-Identifier: Apache-2.0
"""A tiny external provider: inference that repeats the last message, and a tool that reverses text."""
