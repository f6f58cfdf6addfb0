// Code generated from svc/ingest/v1/ingest.proto by "npm run generate". DO NOT EDIT.

package svc

import "context"

// WriteSamples: stores a batch of samples, and responds once it is durable. A value, field or row that cannot
// be stored is refused and listed; everything else is stored. See docs/write-samples.md.
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

	// A UUID. A repeated request with the same id gets the same response.
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

	// The sender's id for this batch. A batch that is sent again gets the same response. Empty =
	// none.
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

	// Display name; empty = unknown.
	DisplayName string `json:"displayName,omitempty"`

	// Readings that the source observed but left out, because they cannot be stored. The service
	// counts them and reports them to the project and the operator.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
}

// LeftOut is a message of the API.
type LeftOut struct {
	// The series, or the field of the row that was cut or left out.
	Series string `json:"series,omitempty"`

	// As in `Rejected`.
	Reason string `json:"reason,omitempty"`

	// What is wrong, in a sentence.
	Message string `json:"message,omitempty"`
}

// Value is a message of the API.
type Value struct {
	// Series name, e.g. `svc_vm_cpu_seconds_total`.
	Series string `json:"series,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`

	// Required: absent is not 0. A client that does not declare schema version 2 (header
	// `svc-schema-version`) may leave out a zero.
	Value float64 `json:"value"`
}

// WriteSamplesResponse is a message of the API.
type WriteSamplesResponse struct {
	// Number of stored samples.
	Accepted int64 `json:"accepted,string,omitempty"`

	// Number of rows whose observation time was received before.
	Duplicates int64 `json:"duplicates,string,omitempty"`

	// At most 5,000.
	Rejected []Rejected `json:"rejected,omitempty"`

	// Number of rejections that are not in `rejected`, because there are too many.
	RejectedNotListed int64 `json:"rejectedNotListed,string,omitempty"`
}

// Rejected is a message of the API.
type Rejected struct {
	// Index of the row in the request.
	Row int32 `json:"row,omitempty"`

	// The refused series, or a field of the row that was refused: `vcpus`, `state`, `displayName`,
	// `bootId`, `stateReason`. Empty = the whole row.
	Series string `json:"series,omitempty"`

	// A stable code, such as `NOT_FINITE`; docs/write-samples.md lists them all.
	Reason string `json:"reason,omitempty"`

	// Path of the refused part in the request: `rows[3]`, `rows[3].displayName`,
	// `rows[3].values[0].labels`.
	Field string `json:"field,omitempty"`

	// What is wrong and what to do, in a sentence or two.
	Message string `json:"message,omitempty"`

	// true: nothing of the row is stored.
	RowRefused bool `json:"rowRefused,omitempty"`
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
