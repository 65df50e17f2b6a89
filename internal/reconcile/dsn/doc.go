// SPDX-License-Identifier: Apache-2.0

// Package dsn parses connection strings of PostgreSQL: URIs (postgresql://user:password@host:5432/db?sslmode=require)
// or keywords (host=… dbname=… user=… password=…).
//
// It is pure. Errors never quote the string, all of which may be secret. Unsupported options are errors.
package dsn
