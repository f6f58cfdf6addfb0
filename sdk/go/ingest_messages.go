// Code generated from svc/ingest/v1/ingest.proto by "npm run generate". DO NOT EDIT.

package svc

import "context"

// WriteSamples: stores a batch of samples, and answers once it is durable. Refused samples are listed; the
// others are kept.
func (c *Client) WriteSamples(ctx context.Context, request *WriteSamplesRequest) (*WriteSamplesResponse, error) {
	return unary[WriteSamplesResponse](ctx, c, method{service: "svc.ingest.v1.IngestService", name: "WriteSamples", isMutation: true}, request)
}

// RetireVms: retires VMs that no longer exist. Their alert instances are retired without a recovery, their
// agents' keys are revoked, and lists leave them out. Their history stays readable until
// retention ends. A later row registers the VM again. Agents may not call this: a guest does not
// know that its VM was deleted.
func (c *Client) RetireVms(ctx context.Context, request *RetireVmsRequest) (*RetireVmsResponse, error) {
	return unary[RetireVmsResponse](ctx, c, method{service: "svc.ingest.v1.IngestService", name: "RetireVms", isMutation: true}, request)
}

// RetireVmsRequest is a message of the API.
type RetireVmsRequest struct {
	// `projects/p`.
	ProjectName string `json:"projectName,omitempty"`

	// A UUID. A repeated request with the same id gets the same answer.
	RequestID string `json:"requestId,omitempty"`

	// Full VM resource names, or ids alone; 1 to 200.
	VMNames []string `json:"vmNames,omitempty"`
}

// RetireVmsResponse is a message of the API.
type RetireVmsResponse struct {
	// Full names of the VMs that this request retired. VMs retired earlier are in neither list.
	RetiredVMNames []string `json:"retiredVmNames,omitempty"`

	Refused []RefusedVm `json:"refused,omitempty"`
}

// RefusedVm is a message of the API.
type RefusedVm struct {
	// As in the request.
	VMName string `json:"vmName,omitempty"`

	// `UNKNOWN_VM` (never reported in this project), `OTHER_DATACENTER`,
	// `OTHER_SOURCE` (another collector reports it).
	Reason string `json:"reason,omitempty"`
}

// WriteSamplesRequest is a message of the API.
type WriteSamplesRequest struct {
	// `projects/p`.
	ProjectName string `json:"projectName,omitempty"`

	// The sender's id of this batch. A batch that is sent again gets the same answer. Empty = none.
	BatchID string `json:"batchId,omitempty"`

	Rows []Row `json:"rows,omitempty"`
}

// Row: one VM's readings at one observation time.
type Row struct {
	// Full VM resource name, or the id alone. The first row of an unknown VM registers it. Rows of a
	// VM in another data center, or from the agent of another VM, are refused.
	VMName string `json:"vmName,omitempty"`

	// Observation time, Unix milliseconds.
	ObservedUnixMs int64 `json:"observedUnixMs,string,omitempty"`

	// Changes with each boot; empty = unknown.
	BootID string `json:"bootId,omitempty"`

	// The source's number of rows since its boot.
	Sequence int64 `json:"sequence,string,omitempty"`

	// Absent = not observed.
	VCPUs *int32 `json:"vcpus,omitempty"`

	State RowState `json:"state,omitempty"`

	StateReason string `json:"stateReason,omitempty"`

	Values []Value `json:"values,omitempty"`

	// Name to show; empty = unknown.
	DisplayName string `json:"displayName,omitempty"`
}

// Value is a message of the API.
type Value struct {
	// Series name, e.g. `svc_vm_cpu_seconds_total`.
	Series string `json:"series,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`

	Value float64 `json:"value,omitempty"`
}

// WriteSamplesResponse is a message of the API.
type WriteSamplesResponse struct {
	// Number of stored samples.
	Accepted int64 `json:"accepted,string,omitempty"`

	// Number of rows whose observation time was received before.
	Duplicates int64 `json:"duplicates,string,omitempty"`

	Rejected []Rejected `json:"rejected,omitempty"`
}

// Rejected is a message of the API.
type Rejected struct {
	// Index of the row in the request.
	Row int32 `json:"row,omitempty"`

	// The refused series, or a field that the sender may not set: `vcpus`, `state`, `displayName`.
	// Empty = the whole row is refused. `bootId` and `stateReason` also mean the whole row: the VM
	// had too many of them within two hours (LIMIT_EXCEEDED).
	Series string `json:"series,omitempty"`

	// `NOT_FINITE`, `CLOCK_AHEAD`, `OLDER_THAN_RETENTION`, `LIMIT_EXCEEDED`, `OTHER_DATACENTER`,
	// `OTHER_VM`, `NOT_EXPANDED` (agents send only expanded series, and collectors send none for a VM
	// without an agent), `TOLD_BY_AGENT` (a collector sends an expanded series of a VM that has an
	// agent), `BAD_LABEL` (the value of a label has line breaks, controls or bidirectional controls),
	// `REPORTED_ELSEWHERE` (another collector reports the VM, or it has left this one).
	Reason string `json:"reason,omitempty"`
}

// RowState is one of the RowState constants.
type RowState string

// Values of RowState.
const (
	RowStateUnspecified RowState = "STATE_UNSPECIFIED"

	RowStateRunning RowState = "RUNNING"

	RowStatePaused RowState = "PAUSED"

	RowStateStopped RowState = "STOPPED"

	RowStateCrashed RowState = "CRASHED"

	// Unknown; the same as absent.
	RowStateUnknown RowState = "UNKNOWN"
)

func (r *WriteSamplesRequest) requestID() string { return r.BatchID }

func (r *RetireVmsRequest) requestID() string { return r.RequestID }
