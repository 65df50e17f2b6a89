// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Request is a request to the API server, as its audit log has it.
type Request struct {
	User, UserAgent string
	// Verb is the verb of RBAC.
	Verb string
	// Group, Resource, Namespace and Name are empty for a Path without an object. A subresource is "RESOURCE/SUBRESOURCE".
	Group, Resource, Namespace, Name string
	// Path is the path and query of the URL.
	Path string
	// Status is the HTTP status code.
	Status             int32
	Received, Answered time.Time
}

// Denied reports whether the API server refused the request for lack of permission.
func (r *Request) Denied() bool { return r.Status == http.StatusForbidden }

// isDiscovery reports whether the request reads the discovery API.
func (r *Request) isDiscovery() bool {
	path, _, _ := strings.Cut(r.Path, "?")
	return r.Resource == "" && (path == "/api" || strings.HasPrefix(path, "/api/v1") || strings.HasPrefix(path, "/apis"))
}

// UnexpectedRequests describes the denied requests of the ServiceAccount in the first namespace, and those for objects
// outside of the namespaces. inside counts its requests for objects in the namespaces; discovery is ignored.
func UnexpectedRequests(requests []Request, serviceAccount string, namespaces ...string) (unexpected []string, inside int) {
	user := "system:serviceaccount:" + namespaces[0] + ":" + serviceAccount
	for i := range requests {
		r := &requests[i]
		switch {
		case r.User != user || r.UserAgent == OtherUserAgent:
		case r.Denied():
			unexpected = append(unexpected, "denied: "+r.Verb+" "+r.Path)
		case r.isDiscovery(), r.Path == "/readyz":
		case r.Namespace == "" || !slices.Contains(namespaces, r.Namespace):
			unexpected = append(unexpected, "outside of its namespaces: "+r.Verb+" "+r.Path)
		default:
			inside++
		}
	}
	return unexpected, inside
}

// Requests returns the requests of all ServiceAccounts outside of kube-system since the last start or Restore, in the
// order in which they ended. It reads the audit log, which Stop keeps.
func (c *Cluster) Requests() ([]Request, error) {
	data, err := os.ReadFile(filepath.Join(c.Logs, "audit.log"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // without a request there is no log
		return nil, err
	}
	var requests []Request
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // is being written
		}
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("audit log: %w", err)
		}
		if event.RequestReceivedTimestamp.Time.Before(c.since) {
			continue
		}
		r := Request{
			User: event.User.Username, UserAgent: event.UserAgent, Verb: event.Verb, Path: event.RequestURI,
			Received: event.RequestReceivedTimestamp.Time, Answered: event.StageTimestamp.Time,
		}
		if o := event.ObjectRef; o != nil {
			r.Group, r.Resource, r.Namespace, r.Name = o.APIGroup, o.Resource, o.Namespace, o.Name
			if o.Subresource != "" {
				r.Resource += "/" + o.Subresource
			}
		}
		if event.ResponseStatus != nil {
			r.Status = event.ResponseStatus.Code
		}
		requests = append(requests, r)
	}
	return requests, nil
}
