// Code generated from svc/monitoring/v1/incident.proto by "npm run generate". DO NOT EDIT.

package svc

// Incident is a message of the API.
type Incident struct {
	// `projects/p/incidents/i`.
	Name string `json:"name,omitempty"`

	RuleName string `json:"ruleName,omitempty"`

	RuleVersion int64 `json:"ruleVersion,string,omitempty"`

	RuleDisplayName string `json:"ruleDisplayName,omitempty"`

	VMName string `json:"vmName,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`

	Severity AlertRuleSpecSeverity `json:"severity,omitempty"`

	State IncidentState `json:"state,omitempty"`

	RetireReason IncidentRetireReason `json:"retireReason,omitempty"`

	Acknowledged *IncidentAcknowledgement `json:"acknowledged,omitempty"`

	SnoozedUntilUnix *int64 `json:"snoozedUntilUnix,string,omitempty"`

	DataState AlertInstanceDataState `json:"dataState,omitempty"`

	// First breaching observation.
	StartedUnix int64 `json:"startedUnix,string,omitempty"`

	// Time of the decision.
	FiredUnix int64 `json:"firedUnix,string,omitempty"`

	RecoveredUnix *int64 `json:"recoveredUnix,string,omitempty"`

	// Value at the last decision.
	Value *float64 `json:"value,omitempty"`

	MetricID string `json:"metricId,omitempty"`

	Operator AlertRuleSpecOperator `json:"operator,omitempty"`

	Threshold float64 `json:"threshold,omitempty"`

	// Late samples showed that the condition had not held. Sent notifications are not corrected.
	CorrectedAfterNotification bool `json:"correctedAfterNotification,omitempty"`

	RetiredUnix *int64 `json:"retiredUnix,string,omitempty"`

	// Last observation before the current gap, and the reason for the gap. Only while MISSING.
	DataMissingSinceUnix *int64 `json:"dataMissingSinceUnix,string,omitempty"`

	DataMissingReason IncidentMissingReason `json:"dataMissingReason,omitempty"`

	// The evaluator's error; empty = it works. An error is never a recovery.
	EvaluatorError string `json:"evaluatorError,omitempty"`

	// For a condition on a whole data center: its name and its silent VMs (at most 1,000; left out of
	// lists and watches). `vm_name` is empty in this case.
	Datacenter string `json:"datacenter,omitempty"`

	HeldVMs []string `json:"heldVms,omitempty"`

	HeldVMCount int64 `json:"heldVmCount,string,omitempty"`

	SustainedSeconds int32 `json:"sustainedSeconds,omitempty"`

	// Reminders so far.
	Repeats int32 `json:"repeats,omitempty"`

	// Oldest first, at most 500 entries: a longer timeline has its start and end, with a `leftOut`
	// entry between. Left out of lists and watches.
	Timeline []IncidentTimelineEntry `json:"timeline,omitempty"`

	// `projects/p/alertInstances/i`: the instance that raised it.
	AlertInstanceName string `json:"alertInstanceName,omitempty"`

	// Labels of the rule when it fired; `labels` are those of the series.
	RuleLabels map[string]string `json:"ruleLabels,omitempty"`

	// The rule's runbook when it fired; empty = none.
	RunbookText string `json:"runbookText,omitempty"`

	RunbookURL string `json:"runbookUrl,omitempty"`

	// Display name of the VM; empty for a condition on a whole data center.
	VMDisplayName string `json:"vmDisplayName,omitempty"`

	// Data center of the VM when it fired; empty when unknown.
	VMDatacenter string `json:"vmDatacenter,omitempty"`
}

// IncidentAcknowledgement is a message of the API.
type IncidentAcknowledgement struct {
	By string `json:"by,omitempty"`

	AtUnix int64 `json:"atUnix,string,omitempty"`

	Note string `json:"note,omitempty"`
}

// IncidentTimelineEntry is a message of the API.
type IncidentTimelineEntry struct {
	AtUnix int64 `json:"atUnix,string,omitempty"`

	// From the log: `sustained`, `recovered`, `acknowledged`, `snoozed`, `snoozeEnded`,
	// `repeated`, `dataMissing`..., or for a notification `sent`, `suppressed`, `expired`,
	// `failed`.
	Event string `json:"event,omitempty"`

	// Resource name of the actor, or the part of the service.
	By string `json:"by,omitempty"`

	// One line, for people.
	Detail string `json:"detail,omitempty"`

	// Notifications only.
	DeliveryName string `json:"deliveryName,omitempty"`

	// The event's public fields: times in Unix ms, values in the metric's unit.
	Fields map[string]any `json:"fields,omitempty"`
}

// ListIncidentsRequest is a message of the API.
type ListIncidentsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	// Filter by state; unspecified = all.
	State IncidentState `json:"state,omitempty"`

	RuleName string `json:"ruleName,omitempty"`

	// Also matches incidents of data centers whose stored silent VMs include it.
	VMName string `json:"vmName,omitempty"`

	// Fired in this range, Unix seconds; 0 = open.
	StartTimeUnix int64 `json:"startTimeUnix,string,omitempty"`

	EndTimeUnix int64 `json:"endTimeUnix,string,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`

	// Filter by severity; empty = all.
	Severities []AlertRuleSpecSeverity `json:"severities,omitempty"`

	// true: only those that need attention: firing, neither acknowledged nor snoozed.
	Attention bool `json:"attention,omitempty"`

	// Filter by data center, e.g. `DC-1`: incidents of the data center itself, and of VMs that were in
	// it when they began; empty = all.
	Datacenter string `json:"datacenter,omitempty"`
}

// ListIncidentsResponse is a message of the API.
type ListIncidentsResponse struct {
	// Newest first.
	Incidents []Incident `json:"incidents,omitempty"`

	// Empty = the last page. If two filters leave few of thousands, a page may be short, and with a
	// small page size even empty: follow the token.
	NextPageToken string `json:"nextPageToken,omitempty"`
}

// GetIncidentRequest is a message of the API.
type GetIncidentRequest struct {
	Name string `json:"name,omitempty"`
}

// WatchIncidentsRequest is a message of the API.
type WatchIncidentsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	// true: no snapshot. The first message is a HEARTBEAT, and every change after its `sequence`
	// follows. A list of incidents requested after its arrival includes all earlier changes.
	ChangesOnly bool `json:"changesOnly,omitempty"`
}

// WatchIncidentsResponse is a message of the API.
type WatchIncidentsResponse struct {
	Kind WatchIncidentsResponseKind `json:"kind,omitempty"`

	Incidents []Incident `json:"incidents,omitempty"`

	// true: another part of the snapshot follows.
	SnapshotContinues bool `json:"snapshotContinues,omitempty"`

	// Position in the log up to which the state is known.
	Sequence int64 `json:"sequence,string,omitempty"`
}

// AcknowledgeIncidentRequest is a message of the API.
type AcknowledgeIncidentRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// At most 1,000 characters.
	Note string `json:"note,omitempty"`
}

// SnoozeIncidentRequest is a message of the API.
type SnoozeIncidentRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// Unix seconds, at most seven days from now.
	UntilUnix int64 `json:"untilUnix,string,omitempty"`
}

// AcknowledgeIncidentsRequest is a message of the API.
type AcknowledgeIncidentsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// 1 to 200 different incidents of the project.
	Names []string `json:"names,omitempty"`

	// At most 1,000 characters; the same for all.
	Note string `json:"note,omitempty"`
}

// AcknowledgeIncidentsResponse is a message of the API.
type AcknowledgeIncidentsResponse struct {
	// In the order of the request.
	Results []IncidentResult `json:"results,omitempty"`
}

// SnoozeIncidentsRequest is a message of the API.
type SnoozeIncidentsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// 1 to 200 incidents of the project, each once.
	Names []string `json:"names,omitempty"`

	// Unix seconds, at most seven days from now.
	UntilUnix int64 `json:"untilUnix,string,omitempty"`
}

// SnoozeIncidentsResponse is a message of the API.
type SnoozeIncidentsResponse struct {
	// In the order of the request.
	Results []IncidentResult `json:"results,omitempty"`
}

// IncidentResult: result for one of several incidents.
type IncidentResult struct {
	Name string `json:"name,omitempty"`

	// The current incident, without timeline and silent VMs; absent = it does not exist.
	Incident *Incident `json:"incident,omitempty"`

	// Reason of the refusal, e.g. `INVALID_STATE` for an ended incident; empty = done.
	ErrorReason string `json:"errorReason,omitempty"`

	// Message of the refusal.
	ErrorMessage string `json:"errorMessage,omitempty"`
}

// UnsnoozeIncidentRequest is a message of the API.
type UnsnoozeIncidentRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// ExplainIncidentRequest is a message of the API.
type ExplainIncidentRequest struct {
	Name string `json:"name,omitempty"`
}

// ExplainIncidentResponse is a message of the API.
type ExplainIncidentResponse struct {
	Incident *Incident `json:"incident,omitempty"`

	Condition *ExplainIncidentResponseCondition `json:"condition,omitempty"`

	// Samples as they were when it fired, oldest first, thinned to at most 512 (`window_thinned`).
	// Empty if it fired because of missing samples.
	Window []ExplainIncidentResponseSample `json:"window,omitempty"`

	WindowThinned bool `json:"windowThinned,omitempty"`

	Gaps []ExplainIncidentResponseGap `json:"gaps,omitempty"`

	Recomputation *ExplainIncidentResponseRecomputation `json:"recomputation,omitempty"`

	// Description of the decision.
	Summary string `json:"summary,omitempty"`
}

// ExplainIncidentResponseSample is a message of the API.
type ExplainIncidentResponseSample struct {
	ObservedUnixMs int64 `json:"observedUnixMs,string,omitempty"`

	Value float64 `json:"value,omitempty"`

	// True when it satisfies the rule's condition.
	Breaches bool `json:"breaches,omitempty"`
}

// ExplainIncidentResponseGap: a time between two samples that exceeds the gap tolerance or the sampling interval.
type ExplainIncidentResponseGap struct {
	StartUnixMs int64 `json:"startUnixMs,string,omitempty"`

	EndUnixMs int64 `json:"endUnixMs,string,omitempty"`

	// Within the gap tolerance: it did not interrupt the run.
	Tolerated bool `json:"tolerated,omitempty"`
}

// ExplainIncidentResponseCondition: the rule's condition when it fired.
type ExplainIncidentResponseCondition struct {
	MetricID string `json:"metricId,omitempty"`

	Unit string `json:"unit,omitempty"`

	Operator AlertRuleSpecOperator `json:"operator,omitempty"`

	Threshold float64 `json:"threshold,omitempty"`

	SustainedSeconds int32 `json:"sustainedSeconds,omitempty"`

	RecoveryThreshold *float64 `json:"recoveryThreshold,omitempty"`

	RecoverySeconds *int32 `json:"recoverySeconds,omitempty"`

	GapToleranceSeconds int32 `json:"gapToleranceSeconds,omitempty"`
}

// ExplainIncidentResponseRecomputation: the result of evaluating the stored samples again.
type ExplainIncidentResponseRecomputation struct {
	Status ExplainIncidentResponseRecomputationStatus `json:"status,omitempty"`

	Detail string `json:"detail,omitempty"`

	StartedUnixMs *int64 `json:"startedUnixMs,string,omitempty"`

	FiredObservedUnixMs *int64 `json:"firedObservedUnixMs,string,omitempty"`
}

// IncidentState is one of the IncidentState constants.
type IncidentState string

// Values of IncidentState.
const (
	IncidentStateUnspecified IncidentState = "STATE_UNSPECIFIED"

	IncidentStateFiring IncidentState = "FIRING"

	IncidentStateRecovered IncidentState = "RECOVERED"

	IncidentStateRetired IncidentState = "RETIRED"
)

// IncidentRetireReason is one of the IncidentRetireReason constants.
type IncidentRetireReason string

// Values of IncidentRetireReason.
const (
	IncidentRetireReasonUnspecified IncidentRetireReason = "RETIRE_REASON_UNSPECIFIED"

	IncidentRetireReasonRuleChanged IncidentRetireReason = "RULE_CHANGED"

	IncidentRetireReasonRulePaused IncidentRetireReason = "RULE_PAUSED"

	IncidentRetireReasonRuleDeleted IncidentRetireReason = "RULE_DELETED"

	IncidentRetireReasonVMDeleted IncidentRetireReason = "VM_DELETED"
)

// IncidentMissingReason is one of the IncidentMissingReason constants.
type IncidentMissingReason string

// Values of IncidentMissingReason.
const (
	IncidentMissingReasonUnspecified IncidentMissingReason = "MISSING_REASON_UNSPECIFIED"

	// No samples arrive, for an unknown reason.
	IncidentMissingReasonNoData IncidentMissingReason = "NO_DATA"

	// The owner stopped the VM, so evaluation pauses.
	IncidentMissingReasonVMStopped IncidentMissingReason = "VM_STOPPED"

	// The VM's clock is ahead, so its samples are refused.
	IncidentMissingReasonClockAhead IncidentMissingReason = "CLOCK_AHEAD"

	// The whole data center is silent.
	IncidentMissingReasonDatacenterStale IncidentMissingReason = "DATACENTER_STALE"
)

// WatchIncidentsResponseKind is one of the WatchIncidentsResponseKind constants.
type WatchIncidentsResponseKind string

// Values of WatchIncidentsResponseKind.
const (
	WatchIncidentsResponseKindUnspecified WatchIncidentsResponseKind = "KIND_UNSPECIFIED"

	// Part of the open incidents, as of `sequence`.
	WatchIncidentsResponseKindSnapshot WatchIncidentsResponseKind = "SNAPSHOT"

	// Incidents that began, changed or ended, in the order of the decisions.
	WatchIncidentsResponseKindChanges WatchIncidentsResponseKind = "CHANGES"

	// Nothing has changed up to `sequence`.
	WatchIncidentsResponseKindHeartbeat WatchIncidentsResponseKind = "HEARTBEAT"
)

// ExplainIncidentResponseRecomputationStatus is one of the ExplainIncidentResponseRecomputationStatus constants.
type ExplainIncidentResponseRecomputationStatus string

// Values of ExplainIncidentResponseRecomputationStatus.
const (
	ExplainIncidentResponseRecomputationStatusUnspecified ExplainIncidentResponseRecomputationStatus = "STATUS_UNSPECIFIED"

	ExplainIncidentResponseRecomputationStatusAgrees ExplainIncidentResponseRecomputationStatus = "AGREES"

	// Stored samples lead to another decision; `detail` explains it.
	ExplainIncidentResponseRecomputationStatusDiffers ExplainIncidentResponseRecomputationStatus = "DIFFERS"

	// The samples are older than the retention, or could not be read.
	ExplainIncidentResponseRecomputationStatusNotPossible ExplainIncidentResponseRecomputationStatus = "NOT_POSSIBLE"
)
