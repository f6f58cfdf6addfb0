// Code generated from svc/monitoring/v1/rule.proto by "npm run generate". DO NOT EDIT.

package svc

// AlertRuleSpec is a message of the API.
type AlertRuleSpec struct {
	DisplayName string `json:"displayName,omitempty"`

	MetricID string `json:"metricId,omitempty"`

	Operator AlertRuleSpecOperator `json:"operator,omitempty"`

	// Required: absent is not 0.
	Threshold *float64 `json:"threshold,omitempty"`

	// How long the condition must persist, 0 to 86,400.
	SustainedSeconds int32 `json:"sustainedSeconds,omitempty"`

	Severity AlertRuleSpecSeverity `json:"severity,omitempty"`

	// true: all current and future VMs of the project. Otherwise name them.
	AllVMs bool `json:"allVms,omitempty"`

	// Full VM resource names.
	VMNames []string `json:"vmNames,omitempty"`

	// Absent = true. false pauses the rule.
	Enabled *bool `json:"enabled,omitempty"`

	// 0 = never, else at least 60.
	RepeatIntervalSeconds int32 `json:"repeatIntervalSeconds,omitempty"`

	DestinationNames []string `json:"destinationNames,omitempty"`

	// Recovery needs samples on the good side of this value; absent = `threshold`.
	RecoveryThreshold *float64 `json:"recoveryThreshold,omitempty"`

	// How long samples must stay good for a recovery; absent = one good sample is enough.
	RecoverySeconds *int32 `json:"recoverySeconds,omitempty"`

	// At most 20, of 200 characters. Incidents and all notifications of the rule have them.
	Labels map[string]string `json:"labels,omitempty"`

	// What to do when it fires, at most 2,000 characters. Every notification begins with it.
	RunbookText string `json:"runbookText,omitempty"`

	// http or https, at most 500 characters. Shown with the text.
	RunbookURL string `json:"runbookUrl,omitempty"`
}

// AlertRule is a message of the API.
type AlertRule struct {
	// `projects/p/alertRules/uuid`.
	Name string `json:"name,omitempty"`

	Spec *AlertRuleSpec `json:"spec,omitempty"`

	// Pass it as `expectedVersion` of an edit.
	Version int64 `json:"version,string,omitempty"`

	// 0 = never applied.
	AppliedVersion int64 `json:"appliedVersion,string,omitempty"`

	SyncStatus AlertRuleSyncStatus `json:"syncStatus,omitempty"`

	SyncError string `json:"syncError,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	UpdatedUnix int64 `json:"updatedUnix,string,omitempty"`

	// Resource name of the last editor.
	UpdatedBy string `json:"updatedBy,omitempty"`

	// Number of instances that are not evaluated because the project's limit is reached. `sync_error`
	// is INSTANCE_LIMIT in this case. The other instances are evaluated as before.
	UnevaluatedInstances int64 `json:"unevaluatedInstances,string,omitempty"`
}

// AlertInstance: state of a rule for one series of one VM: its state machine `alertInstance`.
type AlertInstance struct {
	RuleName string `json:"ruleName,omitempty"`

	VMName string `json:"vmName,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`

	State AlertInstanceState `json:"state,omitempty"`

	// First breaching observation of the run; absent when idle.
	SinceUnix *int64 `json:"sinceUnix,string,omitempty"`

	LastValue *float64 `json:"lastValue,omitempty"`

	LastObservedUnix *int64 `json:"lastObservedUnix,string,omitempty"`

	DataState AlertInstanceDataState `json:"dataState,omitempty"`

	MissingSinceUnix *int64 `json:"missingSinceUnix,string,omitempty"`

	// `projects/p/alertInstances/i`; empty = it has never fired.
	Name string `json:"name,omitempty"`

	// The newest steps of its path, oldest first, at most 100. Lists leave it out.
	Path []AlertInstanceStep `json:"path,omitempty"`

	// Time at which it fires if every observation until then breaches. Only while SUSTAINING and
	// OBSERVED.
	FiresAtUnix *int64 `json:"firesAtUnix,string,omitempty"`

	// Current display name of the rule; empty = it was deleted.
	RuleDisplayName string `json:"ruleDisplayName,omitempty"`

	// Current display name of the VM; empty if `vm_name` is, or if it is unknown.
	VMDisplayName string `json:"vmDisplayName,omitempty"`
}

// AlertInstanceStep: a step of the instance's path through its state machine.
type AlertInstanceStep struct {
	// Name of the machine's event, e.g. `breachStarted`.
	Event string `json:"event,omitempty"`

	// Time of the observation that decided it.
	EventUnixMs int64 `json:"eventUnixMs,string,omitempty"`

	// Time of its commit; absent = it is not recorded.
	RecordedUnixMs *int64 `json:"recordedUnixMs,string,omitempty"`

	// Ids of the states in the machine's drawing, before and after: `alertInstance.sustaining.observed`.
	FromStates []string `json:"fromStates,omitempty"`

	ToStates []string `json:"toStates,omitempty"`

	Source AlertInstanceStepSource `json:"source,omitempty"`
}

// AlertRuleSpecOperator is one of the AlertRuleSpecOperator constants.
type AlertRuleSpecOperator string

// Values of AlertRuleSpecOperator.
const (
	AlertRuleSpecOperatorUnspecified AlertRuleSpecOperator = "OPERATOR_UNSPECIFIED"

	AlertRuleSpecOperatorGreaterThan AlertRuleSpecOperator = "GREATER_THAN"

	AlertRuleSpecOperatorGreaterThanOrEqual AlertRuleSpecOperator = "GREATER_THAN_OR_EQUAL"

	AlertRuleSpecOperatorLessThan AlertRuleSpecOperator = "LESS_THAN"

	AlertRuleSpecOperatorLessThanOrEqual AlertRuleSpecOperator = "LESS_THAN_OR_EQUAL"

	AlertRuleSpecOperatorEqual AlertRuleSpecOperator = "EQUAL"

	AlertRuleSpecOperatorNotEqual AlertRuleSpecOperator = "NOT_EQUAL"
)

// AlertRuleSpecSeverity is one of the AlertRuleSpecSeverity constants.
type AlertRuleSpecSeverity string

// Values of AlertRuleSpecSeverity.
const (
	AlertRuleSpecSeverityUnspecified AlertRuleSpecSeverity = "SEVERITY_UNSPECIFIED"

	AlertRuleSpecSeverityInfo AlertRuleSpecSeverity = "INFO"

	AlertRuleSpecSeverityWarning AlertRuleSpecSeverity = "WARNING"

	AlertRuleSpecSeverityCritical AlertRuleSpecSeverity = "CRITICAL"
)

// AlertRuleSyncStatus is one of the AlertRuleSyncStatus constants.
type AlertRuleSyncStatus string

// Values of AlertRuleSyncStatus.
const (
	AlertRuleSyncStatusUnspecified AlertRuleSyncStatus = "SYNC_STATUS_UNSPECIFIED"

	// The desired version could not be applied: the rule is not evaluated.
	AlertRuleSyncStatusPending AlertRuleSyncStatus = "PENDING"

	AlertRuleSyncStatusApplied AlertRuleSyncStatus = "APPLIED"

	AlertRuleSyncStatusFailed AlertRuleSyncStatus = "FAILED"
)

// AlertInstanceState is one of the AlertInstanceState constants.
type AlertInstanceState string

// Values of AlertInstanceState.
const (
	AlertInstanceStateUnspecified AlertInstanceState = "STATE_UNSPECIFIED"

	AlertInstanceStateIdle AlertInstanceState = "IDLE"

	AlertInstanceStateSustaining AlertInstanceState = "SUSTAINING"

	AlertInstanceStateFiring AlertInstanceState = "FIRING"

	// Its rule was paused, edited or deleted, or its VM was retired. Lists leave it out.
	AlertInstanceStateRetired AlertInstanceState = "RETIRED"
)

// AlertInstanceDataState is one of the AlertInstanceDataState constants.
type AlertInstanceDataState string

// Values of AlertInstanceDataState.
const (
	AlertInstanceDataStateUnspecified AlertInstanceDataState = "DATA_STATE_UNSPECIFIED"

	AlertInstanceDataStateObserved AlertInstanceDataState = "OBSERVED"

	// No observation for longer than the gap tolerance. Never a recovery.
	AlertInstanceDataStateMissing AlertInstanceDataState = "MISSING"
)

// AlertInstanceStepSource is one of the AlertInstanceStepSource constants.
type AlertInstanceStepSource string

// Values of AlertInstanceStepSource.
const (
	AlertInstanceStepSourceUnspecified AlertInstanceStepSource = "SOURCE_UNSPECIFIED"

	// Recorded in the log, by the commit that fired the instance or a later one.
	AlertInstanceStepSourceRecorded AlertInstanceStepSource = "RECORDED"

	// Held by the evaluator; it is recorded if the instance fires.
	AlertInstanceStepSourceEvaluator AlertInstanceStepSource = "EVALUATOR"

	// Recomputed from stored samples. No one was notified because of it.
	AlertInstanceStepSourceRecomputed AlertInstanceStepSource = "RECOMPUTED"
)
