// Code generated from svc/monitoring/v1/monitoring.proto by "npm run generate". DO NOT EDIT.

package svc

import "context"

// QueryVMMonitoring: returns the history of one VM's metrics. Points that were not observed are left out.
func (c *Client) QueryVMMonitoring(ctx context.Context, request *QueryVMMonitoringRequest) (*QueryVMMonitoringResponse, error) {
	return unary[QueryVMMonitoringResponse](ctx, c, method{service: "svc.monitoring.v1.MonitoringService", name: "QueryVMMonitoring"}, request)
}

// ListVMMonitoring: lists the project's VMs.
func (c *Client) ListVMMonitoring(ctx context.Context, request *ListVMMonitoringRequest) (*ListVMMonitoringResponse, error) {
	return unary[ListVMMonitoringResponse](ctx, c, method{service: "svc.monitoring.v1.MonitoringService", name: "ListVMMonitoring"}, request)
}

// GetVMMonitoring: returns one VM of the project.
func (c *Client) GetVMMonitoring(ctx context.Context, request *GetVMMonitoringRequest) (*VMMonitoring, error) {
	return unary[VMMonitoring](ctx, c, method{service: "svc.monitoring.v1.MonitoringService", name: "GetVMMonitoring"}, request)
}

// ListMetricDescriptors: lists the metric catalogue, with the limitation of each metric.
func (c *Client) ListMetricDescriptors(ctx context.Context, request *ListMetricDescriptorsRequest) (*ListMetricDescriptorsResponse, error) {
	return unary[ListMetricDescriptorsResponse](ctx, c, method{service: "svc.monitoring.v1.MonitoringService", name: "ListMetricDescriptors"}, request)
}

// GetProjectLimits: returns the project's current limits, each with its use.
func (c *Client) GetProjectLimits(ctx context.Context, request *GetProjectLimitsRequest) (*GetProjectLimitsResponse, error) {
	return unary[GetProjectLimitsResponse](ctx, c, method{service: "svc.monitoring.v1.MonitoringService", name: "GetProjectLimits"}, request)
}

// QueryVMMonitoringRequest is a message of the API.
type QueryVMMonitoringRequest struct {
	// Full VM resource name, `projects/p/vms/v`.
	Name string `json:"name,omitempty"`

	// Ids of the catalogue; at least one.
	MetricIDs []string `json:"metricIds,omitempty"`

	// First point, Unix seconds, required; clamped to retention.
	StartTimeUnix *int64 `json:"startTimeUnix,string,omitempty"`

	// Unix seconds, required; clamped to now, then to a whole number of steps after the first point.
	EndTimeUnix *int64 `json:"endTimeUnix,string,omitempty"`

	// At least 30. A range has at most 10,000 points, both ends counted.
	StepSeconds int32 `json:"stepSeconds,omitempty"`

	// true: each point also has the smallest and the greatest value of its step.
	WithExtremes bool `json:"withExtremes,omitempty"`
}

// QueryVMMonitoringResponse is a message of the API.
type QueryVMMonitoringResponse struct {
	// Actual bounds and step. Callers must use these instead of the requested ones.
	StartTimeUnix int64 `json:"startTimeUnix,string,omitempty"`

	EndTimeUnix int64 `json:"endTimeUnix,string,omitempty"`

	StepSeconds int32 `json:"stepSeconds,omitempty"`

	// How complete and fresh `series` is. Always read both.
	Quality *Quality `json:"quality,omitempty"`

	Series []Series `json:"series,omitempty"`
}

// Series: one series of a metric. A metric of devices (disks, networks) has the VM's sum, without labels,
// and a series for each device; adding them all up would count twice.
type Series struct {
	MetricID string `json:"metricId,omitempty"`

	Unit string `json:"unit,omitempty"`

	// Labels of the series within its VM: `mountpoint`, `device` or `interface`.
	Labels map[string]string `json:"labels,omitempty"`

	// In time order; a step without an observation has no point.
	Points []Point `json:"points,omitempty"`
}

// Point is a message of the API.
type Point struct {
	// End of the step that the point covers, Unix seconds: observations in
	// (time_unix - step_seconds, time_unix].
	TimeUnix int64 `json:"timeUnix,string,omitempty"`

	Value *float64 `json:"value,omitempty"`

	// Smallest and greatest value observed in the step, from the same kind of observations as
	// `value`. Only with `with_extremes`.
	Min *float64 `json:"min,omitempty"`

	Max *float64 `json:"max,omitempty"`
}

// Quality is a message of the API.
type Quality struct {
	State QualityState `json:"state,omitempty"`

	// Last observation of the VM, in any range; absent = never observed.
	LastObservedUnix *int64 `json:"lastObservedUnix,string,omitempty"`

	// `LIVE` or `STALE`.
	DatacenterState string `json:"datacenterState,omitempty"`

	// Number of sampling intervals in the range, and of those with an observation: never more.
	ExpectedSamples int64 `json:"expectedSamples,string,omitempty"`

	ObservedSamples int64 `json:"observedSamples,string,omitempty"`

	Gaps []Gap `json:"gaps,omitempty"`

	Metrics []MetricQuality `json:"metrics,omitempty"`

	// All known problems, each once: `FROZEN` (an hour of identical readings), `CONFLICTING_SAMPLES`,
	// `CLOCK_BACKWARDS`, `CLOCK_AHEAD`, `OUT_OF_RANGE`, `CAPACITY_CHANGED`, `NOT_REPORTED`,
	// `NOT_REPORTED_BY_GUEST`, `EXPANDED_MONITORING_OFF`, `DATACENTER_STALE`, `READ_FAILED`,
	// `STORE_FULL` (accepted samples cannot be read yet), `REPORTED_ELSEWHERE` (another collector has
	// the VM too, and its rows are refused), or the reason why a source left a reading out, such as
	// `MEMORY_NOT_POLLED`, `NO_MEMORY_FIGURES`, `CLOCKS_APART`, `NOT_ASKED` or `IMPOSSIBLE`;
	// docs/reading.md lists them. More may be added.
	Reasons []string `json:"reasons,omitempty"`

	// Observed values that are impossible: the newest 20 of each metric, oldest first. They are not
	// points, and no rule acts on them.
	Impossible []ImpossibleReading `json:"impossible,omitempty"`
}

// ImpossibleReading: an impossible value: below zero, or far above the capacity.
type ImpossibleReading struct {
	MetricID string `json:"metricId,omitempty"`

	// As in `Series`.
	Labels map[string]string `json:"labels,omitempty"`

	TimeUnix int64 `json:"timeUnix,string,omitempty"`

	Value float64 `json:"value,omitempty"`
}

// Gap: a period without an observation of the metric, longer than three sampling intervals.
type Gap struct {
	StartUnix int64 `json:"startUnix,string,omitempty"`

	EndUnix int64 `json:"endUnix,string,omitempty"`

	// `NO_SAMPLES` (nothing arrived), `NOT_RUNNING` (the VM was off), `NOT_REPORTED` (rows arrived
	// without the metric), or one of the reasons of `Quality`.
	Reason string `json:"reason,omitempty"`
}

// MetricQuality is a message of the API.
type MetricQuality struct {
	MetricID string `json:"metricId,omitempty"`

	State QualityState `json:"state,omitempty"`

	// The most limiting reason; empty = none.
	Reason string `json:"reason,omitempty"`

	// What the reason means, and the next step; empty = nothing to do.
	Help string `json:"help,omitempty"`
}

// ListVMMonitoringRequest is a message of the API.
type ListVMMonitoringRequest struct {
	// `projects/p`.
	ProjectName string `json:"projectName,omitempty"`

	// Default 50, at most 1000.
	PageSize int32 `json:"pageSize,omitempty"`

	// true: metrics are left out, which is faster.
	InventoryOnly bool `json:"inventoryOnly,omitempty"`

	PageToken string `json:"pageToken,omitempty"`

	// Part of the id or of the display name, case-insensitive, at most 100 characters; empty = all.
	Search string `json:"search,omitempty"`

	// Filter by current state; empty = all. A VM that fell silent is UNKNOWN.
	States []VMMonitoringState `json:"states,omitempty"`

	// Filter by data center; empty = all.
	Datacenter string `json:"datacenter,omitempty"`
}

// ListVMMonitoringResponse is a message of the API.
type ListVMMonitoringResponse struct {
	VMs []VMMonitoring `json:"vms,omitempty"`

	// Empty on the last page.
	NextPageToken string `json:"nextPageToken,omitempty"`

	// Number of VMs that match the filters, on all pages.
	TotalSize int32 `json:"totalSize,omitempty"`
}

// GetVMMonitoringRequest is a message of the API.
type GetVMMonitoringRequest struct {
	// Full resource name, `projects/p/vms/v`.
	Name string `json:"name,omitempty"`
}

// VMMonitoring is a message of the API.
type VMMonitoring struct {
	// Full resource name, `projects/p/vms/v`.
	Name string `json:"name,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	// Current state. It becomes UNKNOWN 90 seconds after it was observed; `last_state` keeps it.
	State VMMonitoringState `json:"state,omitempty"`

	Datacenter string `json:"datacenter,omitempty"`

	// As of the last row.
	VCPUs *int32 `json:"vcpus,omitempty"`

	Telemetry *Telemetry `json:"telemetry,omitempty"`

	ExpandedMonitoring bool `json:"expandedMonitoring,omitempty"`

	// Absent unless observed within the last 90 seconds.
	CPUUtilizationPct *float64 `json:"cpuUtilizationPct,omitempty"`

	MemoryUsedBytes *float64 `json:"memoryUsedBytes,omitempty"`

	Expanded *ExpandedMonitoring `json:"expanded,omitempty"`

	// Last observed state, however old; never UNKNOWN. Absent = none was observed, or only long before
	// the newest rows.
	LastState *VMMonitoringState `json:"lastState,omitempty"`

	// When `last_state` was observed. It may be older than the newest row: an agent reports no state.
	StateObservedUnix *int64 `json:"stateObservedUnix,string,omitempty"`
}

// ExpandedMonitoring: expanded monitoring of one VM, by an agent inside its guest.
type ExpandedMonitoring struct {
	// true: it can be switched on (EnrolVm).
	Available bool `json:"available,omitempty"`

	// Why it is not available: `OTHER_DATACENTER`; empty when it is.
	Reason string `json:"reason,omitempty"`

	State ExpandedMonitoringState `json:"state,omitempty"`

	// Expiry of the token; only while OFFERED.
	TokenExpiresUnix *int64 `json:"tokenExpiresUnix,string,omitempty"`

	// Time of the newest row with readings of the guest; absent = none is stored, or `inventory_only`
	// was set.
	LastObservedUnix *int64 `json:"lastObservedUnix,string,omitempty"`
}

// Telemetry is a message of the API.
type Telemetry struct {
	State TelemetryState `json:"state,omitempty"`

	LastObservedUnix *int64 `json:"lastObservedUnix,string,omitempty"`
}

// ListMetricDescriptorsRequest is a message of the API.
type ListMetricDescriptorsRequest struct {
	// `projects/p`.
	ProjectName string `json:"projectName,omitempty"`
}

// ListMetricDescriptorsResponse is a message of the API.
type ListMetricDescriptorsResponse struct {
	Descriptors []MetricDescriptor `json:"descriptors,omitempty"`
}

// MetricDescriptor is a message of the API.
type MetricDescriptor struct {
	MetricID string `json:"metricId,omitempty"`

	Unit string `json:"unit,omitempty"`

	// Source: `hypervisor`, `guest` or `service`.
	Source string `json:"source,omitempty"`

	// Name of the series in PromQL.
	PromQLName string `json:"promqlName,omitempty"`

	// Limitation of the metric.
	Limitation string `json:"limitation,omitempty"`

	// Only with expanded guest monitoring.
	Expanded bool `json:"expanded,omitempty"`
}

// GetProjectLimitsRequest is a message of the API.
type GetProjectLimitsRequest struct {
	// `projects/p`.
	ProjectName string `json:"projectName,omitempty"`
}

// GetProjectLimitsResponse is a message of the API.
type GetProjectLimitsResponse struct {
	// Every limit, in a fixed order.
	Limits []ProjectLimit `json:"limits,omitempty"`
}

// ProjectLimit: a limit of a project, set by the operator. Requests that would exceed it are refused.
type ProjectLimit struct {
	// `rules`, `destinations`, `instances`, `vms`, `series`, `headBytes`, `concurrency`,
	// `openStreams`, `samplesPerSecond`, `ingestBytesPerSecond`, `changesPerSecond`,
	// `changeBytesPerDay` or `thingsPerDay`; more may be added.
	Name string `json:"name,omitempty"`

	// The limit, in `unit`.
	Limit int64 `json:"limit,string,omitempty"`

	// Current use; for a rate, the average over the last ten seconds, for changes over two minutes.
	// Absent = not measured, which is not zero. May exceed a limit that was lowered.
	Used *int64 `json:"used,string,omitempty"`

	// `rules`, `bytes`, `samples/s` and so on.
	Unit string `json:"unit,omitempty"`

	Description string `json:"description,omitempty"`
}

// QualityState is one of the QualityState constants.
type QualityState string

// Values of QualityState.
const (
	QualityStateUnspecified QualityState = "STATE_UNSPECIFIED"

	// Observed within the last 90 seconds.
	QualityStateLive QualityState = "LIVE"

	// Observed, but not recently.
	QualityStateStale QualityState = "STALE"

	// Some metrics, or parts of the range, were not observed.
	QualityStatePartial QualityState = "PARTIAL"

	// Nothing was observed in the range.
	QualityStateNoData QualityState = "NO_DATA"

	// Some metrics could not be read.
	QualityStateError QualityState = "ERROR"
)

// VMMonitoringState is one of the VMMonitoringState constants.
type VMMonitoringState string

// Values of VMMonitoringState.
const (
	VMMonitoringStateUnspecified VMMonitoringState = "STATE_UNSPECIFIED"

	VMMonitoringStateRunning VMMonitoringState = "RUNNING"

	VMMonitoringStatePaused VMMonitoringState = "PAUSED"

	VMMonitoringStateStopped VMMonitoringState = "STOPPED"

	VMMonitoringStateCrashed VMMonitoringState = "CRASHED"

	// Not observed within the last 90 seconds, or its data center is stale.
	VMMonitoringStateUnknown VMMonitoringState = "UNKNOWN"
)

// ExpandedMonitoringState is one of the ExpandedMonitoringState constants.
type ExpandedMonitoringState string

// Values of ExpandedMonitoringState.
const (
	ExpandedMonitoringStateUnspecified ExpandedMonitoringState = "STATE_UNSPECIFIED"

	ExpandedMonitoringStateOff ExpandedMonitoringState = "OFF"

	// A token waits for an agent to enrol. An agent that enrolled before keeps working until then.
	ExpandedMonitoringStateOffered ExpandedMonitoringState = "OFFERED"

	// An agent has enrolled.
	ExpandedMonitoringStateOn ExpandedMonitoringState = "ON"
)

// TelemetryState is one of the TelemetryState constants.
type TelemetryState string

// Values of TelemetryState.
const (
	TelemetryStateUnspecified TelemetryState = "STATE_UNSPECIFIED"

	TelemetryStateLive TelemetryState = "LIVE"

	TelemetryStateStale TelemetryState = "STALE"

	TelemetryStateNever TelemetryState = "NEVER"

	// Its newest observation could not be read.
	TelemetryStateError TelemetryState = "ERROR"
)
