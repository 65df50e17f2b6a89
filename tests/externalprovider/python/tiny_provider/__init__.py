# SPDX-License-Identifier: Apache-2.0
"""A tiny external provider of the project's own: inference that answers with what it is asked, and a tool that reverses text."""
