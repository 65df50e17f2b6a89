// SPDX-License-Identifier: Apache-2.0

// Package dsn reads connection strings of PostgreSQL: as a URI
// (postgresql://user:password@host:5432/db?sslmode=require) or as keywords (host=… dbname=… user=… password=…).
//
// Contract: pure. It looks into neither the environment nor files, and an error never quotes anything of the string:
// all of it can be secret, for example where a password that was not encoded ends up in another place. It takes what
// every release of the server can be given; whatever else the string says is an error and never dropped.
package dsn
