// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/files"
	"github.com/llamastack/llama-stack-k8s-operator/hack/cluster/internal/process"
)

// Result has what a caller needs to use a running cluster. The fields from Index on are empty on the control plane
// tier.
type Result struct {
	Name string `json:"name"`
	Tier Tier   `json:"tier"`
	// Started is false if the cluster ran before the call.
	Started bool `json:"started"`
	// Dir is the cluster's directory; Logs has the logs of its processes.
	Dir  string `json:"dir"`
	Logs string `json:"logs"`
	// Kubeconfig is the administrator's kubeconfig, and Kubectl the path of kubectl.
	Kubeconfig string `json:"kubeconfig"`
	Kubectl    string `json:"kubectl"`
	// Server is the API server's URL.
	Server string `json:"server"`
	// Etcd is the URL of the control plane tier's etcd, whose client certificate is etcd-client.crt and etcd-client.key in
	// pki.
	Etcd              string `json:"etcd,omitempty"`
	KubernetesVersion string `json:"kubernetesVersion"`

	// Index is unique on the machine; names and addresses derive from it.
	Index *int `json:"index,omitempty"`
	// NodeName is the name of the only node.
	NodeName string `json:"nodeName,omitempty"`
	// NodeAddress is the node's address, HostAddress the machine's for pods and the API server.
	NodeAddress string `json:"nodeAddress,omitempty"`
	HostAddress string `json:"hostAddress,omitempty"`
	// ServiceRange and PodRange are CIDRs that the machine routes to the node.
	ServiceRange string `json:"serviceRange,omitempty"`
	PodRange     string `json:"podRange,omitempty"`
	// DNS is the address of the cluster's DNS server, port 53.
	DNS string `json:"dns,omitempty"`
	// Registry is the host:port of an empty plain HTTP image registry, which the machine can push to and pods can pull
	// from.
	Registry string `json:"registry,omitempty"`
	// StorageClass is the default class; PVCs bind when a pod uses them.
	StorageClass string `json:"storageClass,omitempty"`
}

// State is the stored state of a cluster.
type State struct {
	// Ready is set once the cluster was usable; it is false after an interrupted start.
	Ready     bool               `json:"ready"`
	Result    Result             `json:"result"`
	Processes []*process.Process `json:"processes"`
}

// File returns the state file in a cluster's directory.
func File(dir string) string { return filepath.Join(dir, "state.json") }

// Load returns nil if the directory has no cluster.
func Load(dir string) (*State, error) {
	data, err := os.ReadFile(File(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", File(dir), err)
	}
	return &s, nil
}

// Save writes the state file.
func (s *State) Save() error {
	data, err := files.JSON(s)
	if err != nil {
		return err
	}
	return files.WriteAtomic(File(s.Result.Dir), data)
}

// Intact reports whether the cluster was usable once and all of its processes still run.
func (s *State) Intact() (bool, error) {
	reports, err := s.Reports()
	if err != nil || !s.Ready {
		return false, err
	}
	for _, p := range reports {
		if !p.Running {
			return false, nil
		}
	}
	return true, nil
}

// Reports returns the processes of the cluster, including those inside the node.
func (s *State) Reports() ([]ProcessReport, error) {
	var list []ProcessReport
	for _, p := range s.Processes {
		list = append(list, ProcessReport{Name: p.Name, Running: p.Alive(), Log: p.Log})
	}
	if s.Result.Tier != Node {
		return list, nil
	}
	inside, err := loadNodeProcesses(s.Result.Dir)
	if err != nil {
		return nil, err
	}
	for _, p := range inside {
		list = append(list, ProcessReport{
			Name: p.Name, Running: p.Running && list[0].Running, Log: filepath.Join(s.Result.Logs, p.Name+".log"),
		})
	}
	return list, nil
}

// ProcessReport is the state of one process of a cluster.
type ProcessReport struct {
	Name    string `json:"name"`
	Running bool   `json:"running"`
	Log     string `json:"log"`
}

// NodeProcess is a process that the supervisor of a node records for the machine, where it has another pid.
type NodeProcess struct {
	Name    string `json:"name"`
	Running bool   `json:"running"`
}

// NodeProcessesFile returns the file in the cluster's directory in which the supervisor lists its processes.
func NodeProcessesFile(dir string) string { return filepath.Join(dir, "processes.json") }

func loadNodeProcesses(dir string) ([]NodeProcess, error) {
	data, err := os.ReadFile(NodeProcessesFile(dir))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // not started that far
	}
	if err != nil {
		return nil, err
	}
	var list []NodeProcess
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", NodeProcessesFile(dir), err)
	}
	return list, nil
}
