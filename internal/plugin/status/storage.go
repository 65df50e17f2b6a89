// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/llamastack/llama-stack-k8s-operator/api/v1alpha2"
	"github.com/llamastack/llama-stack-k8s-operator/internal/limits"
	"github.com/llamastack/llama-stack-k8s-operator/internal/plugin/cluster"
	"github.com/llamastack/llama-stack-k8s-operator/internal/reconcile/pods"
)

const (
	// storageLogLines bounds the lines of a log in which the cause of a failed read is looked for, and storageLogBytes
	// their bytes. A server logs one failure in more than a thousand lines.
	storageLogLines, storageLogBytes = int64(3000), int64(1 << 20)
	// storageErrors bounds the shown errors: a server logs each in several forms, and cuts some of them into lines.
	storageErrors = 4
)

// databaseError is a kind of error of a database's client in the server's log.
type databaseError struct {
	text   *regexp.Regexp
	remedy string
	// ofAnyClient means that other clients of the server report it with the same text.
	ofAnyClient bool
}

// databaseErrors are the known errors, the most specific first.
var databaseErrors = []databaseError{
	{
		text: regexp.MustCompile(`password authentication failed|redis\.exceptions\.AuthenticationError|WRONGPASS|NOAUTH|` +
			`invalid username-password`),
		remedy: "correct user and password in the Secret of the connection; the server restarts by itself",
	},
	{
		text: regexp.MustCompile(`no pg_hba\.conf entry`),
		remedy: "the database refuses the connection. With \"no encryption\" it demands TLS: add sslmode=require to the " +
			"connection string, or sslmode=verify-full and a CA bundle. Otherwise allow the user, database and address in its " +
			"pg_hba.conf",
	},
	{
		text: regexp.MustCompile(`rejected SSL upgrade|does not support SSL`),
		remedy: "the database has no TLS: use sslmode=disable or prefer in the connection string, or enable TLS in the " +
			"database",
	},
	{
		text: regexp.MustCompile(`CERTIFICATE_VERIFY_FAILED|certificate verify failed|` +
			`root certificate file .* does not exist`),
		remedy: "the certificate of the database is not verified: name the ConfigMap with its CA in " +
			"spec.networking.tls.caBundle, and the host of the certificate in the connection string",
		ofAnyClient: true,
	},
	{
		text: regexp.MustCompile(`type "vector" does not exist|vector type not found|unknown type: public\.vector|` +
			`extension "vector" (is not available|has no)|permission denied to create extension "vector"`),
		remedy: "the database lacks the extension pgvector: install it, and run CREATE EXTENSION vector in the database as " +
			"a superuser",
	},
	{
		text:   regexp.MustCompile(`database ".*" does not exist`),
		remedy: "create the database, or correct its name in the connection string",
	},
	{
		text:   regexp.MustCompile(`permission denied for|must be owner of`),
		remedy: "give the user of the connection string all rights in its database: ALTER DATABASE … OWNER TO …",
	},
	{
		text:   regexp.MustCompile(`too many clients already|remaining connection slots are reserved`),
		remedy: "the database has no free connections: raise its max_connections, or use fewer pods and workers",
	},
	{
		text: regexp.MustCompile(`collation version mismatch|could not determine which collation|` +
			`collation .* does not exist`),
		remedy: "the collation of the database is not usable: ask its administrator for REFRESH COLLATION VERSION, or for " +
			"a new database with LC_COLLATE 'C'",
	},
	{
		text: regexp.MustCompile(`Name or service not known|Temporary failure in name resolution|could not translate host name|` +
			`nodename nor servname|No address associated with hostname`),
		remedy:      "the host of the database has no address in the cluster's DNS: correct it in the connection",
		ofAnyClient: true,
	},
	{
		text: regexp.MustCompile(`Connection refused|Connect call failed|Error 111 |No route to host|Network is unreachable|` +
			`server closed the connection|connection already closed|connection is closed|Connection reset by peer|` +
			`the database system is (starting up|shutting down)|terminating connection`),
		remedy: "the address in the log does not accept connections. If it is the database: look whether it runs, and " +
			"whether a NetworkPolicy lets the pod reach it. If it answers again and this stays, restart the server: kubectl " +
			"rollout restart",
		ofAnyClient: true,
	},
}

// readStorageLog reads the errors of a database from the log of a running server, with the permissions of the user.
func (f *facts) readStorageLog(ctx context.Context, c *cluster.Connection) {
	if f.log != nil || !meta.IsStatusConditionFalse(f.cr.Status.Conditions, v1alpha2.ConditionStorageReachable) {
		return
	}
	at := slices.IndexFunc(f.pods, func(p corev1.Pod) bool { return p.DeletionTimestamp == nil && pods.IsReady(&p) })
	if at < 0 {
		return
	}
	lines := storageLogLines
	all := f.readLines(ctx, c, &f.pods[at], storageLogBytes, &corev1.PodLogOptions{
		Container: f.container(), TailLines: &lines,
	})
	if errs := databaseLines(all); len(errs) > 0 {
		f.log = &podLog{Pod: f.pods[at].Name, Container: f.container(), Databases: true, Lines: errs}
	}
}

// databaseLines returns the last different lines with the last kind of error of a database, without source code.
func databaseLines(all []string) []string {
	var found []string
	remedy := databaseRemedy(all, databaseErrors)
	for _, line := range slices.Backward(all) {
		line = strings.TrimSpace(line)
		if remedy != "" && remedyOf(line, databaseErrors) == remedy && !slices.Contains(found, line) {
			found = append(found, line)
		}
		if len(found) == storageErrors {
			break
		}
	}
	slices.Reverse(found)
	return found
}

// databaseRemedy returns what to do about the last error of a known kind in a log, or "".
func databaseRemedy(lines []string, kinds []databaseError) string {
	for _, line := range slices.Backward(lines) {
		if remedy := remedyOf(strings.TrimSpace(line), kinds); remedy != "" {
			return remedy
		}
	}
	return ""
}

// remedyOf returns what to do about the error of a database in a line, or "". It skips source code in tracebacks.
func remedyOf(line string, kinds []databaseError) string {
	if strings.Contains(line, "│") || strings.HasPrefix(line, "raise ") {
		return ""
	}
	for _, kind := range kinds {
		if kind.text.MatchString(line) && (!kind.ofAnyClient || !strings.Contains(line, "http")) {
			return kind.remedy
		}
	}
	return ""
}

// explainStorage gives a cause the remedy for the error of a database in the log that belongs to it.
func (f *facts) explainStorage(list []cause) []cause {
	if f.log == nil {
		return list
	}
	kinds := databaseErrors
	if !f.log.Databases { // another client may have ended the server
		kinds = slices.DeleteFunc(slices.Clone(kinds), func(e databaseError) bool { return e.ofAnyClient })
	}
	remedy := databaseRemedy(f.log.Lines, kinds)
	for i := range list {
		isOfLog := isPodReason(list[i].Reason)
		if f.log.Databases {
			isOfLog = list[i].Condition == v1alpha2.ConditionStorageReachable
		}
		if isOfLog && remedy != "" {
			list[i].Remedy = remedy
		}
	}
	return list
}

func cutLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		lines = append(lines, limits.Cut(line, lineBytes))
	}
	return lines
}
