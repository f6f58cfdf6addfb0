// Code generated from svc/monitoring/v1/delivery.proto by "npm run generate". DO NOT EDIT.

package svc

// Delivery is a message of the API.
type Delivery struct {
	// `projects/p/deliveries/d`.
	Name string `json:"name,omitempty"`

	// Empty for a test. For several incidents, the first.
	IncidentName string `json:"incidentName,omitempty"`

	DestinationName string `json:"destinationName,omitempty"`

	Event DeliveryEvent `json:"event,omitempty"`

	State DeliveryState `json:"state,omitempty"`

	// Why it ended unsent, e.g. `SNOOZED`.
	Reason string `json:"reason,omitempty"`

	Attempts []DeliveryAttempt `json:"attempts,omitempty"`

	// Time of the next attempt during a wait, and while its destination rests after failures.
	NextAttemptUnix *int64 `json:"nextAttemptUnix,string,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	// Address of the mail recipient. Only for callers who may write.
	Recipient string `json:"recipient,omitempty"`

	// Its path, oldest first, at most 500 steps. Only in GetDelivery.
	Steps []DeliveryStep `json:"steps,omitempty"`

	// Display names from its incident, as recorded there. Empty for a test; the VM's also for a
	// condition on a whole data center, and for several incidents.
	RuleDisplayName string `json:"ruleDisplayName,omitempty"`

	VMName string `json:"vmName,omitempty"`

	// Incidents that share the message, in the order in which they joined, including dropped ones.
	// Empty for a test, and if messages do not wait for further incidents. Only in GetDelivery.
	Members []DeliveryMember `json:"members,omitempty"`

	// Number of incidents; 0 = a test.
	IncidentCount int32 `json:"incidentCount,omitempty"`

	// Display name of its destination, also if that was deleted.
	DestinationDisplayName string `json:"destinationDisplayName,omitempty"`

	// Display name of the VM when the incident began; empty if `vm_name` is.
	VMDisplayName string `json:"vmDisplayName,omitempty"`
}

// DeliveryAttempt is a message of the API.
type DeliveryAttempt struct {
	AttemptID string `json:"attemptId,omitempty"`

	StartedUnix int64 `json:"startedUnix,string,omitempty"`

	// Absent while the attempt is in progress.
	DurationMs *int64 `json:"durationMs,string,omitempty"`

	// `accepted`, `failed`, `unknown` or `refused`; empty while in progress.
	Outcome string `json:"outcome,omitempty"`

	HTTPStatus *int32 `json:"httpStatus,omitempty"`

	Error string `json:"error,omitempty"`

	// The endpoint's response, redacted, at most 4 KiB. Only in GetDelivery, and only for callers
	// who may write.
	AnswerExcerpt string `json:"answerExcerpt,omitempty"`
}

// DeliveryCheck: a check before an attempt was opened or the delivery was suppressed.
type DeliveryCheck struct {
	Check DeliveryCheckKind `json:"check,omitempty"`

	Holds bool `json:"holds,omitempty"`

	// Why the check failed: a reason of the delivery, e.g. `SNOOZED`; empty = it passed.
	Reason string `json:"reason,omitempty"`
}

// DeliveryStep: a step of the delivery's path through its state machine.
type DeliveryStep struct {
	AtUnixMs int64 `json:"atUnixMs,string,omitempty"`

	// `attemptDue`, `cleared`, `suppressed`, `accepted`, `attemptFailed`, `refused`,
	// `attemptLost`, or for timers `after retryDelay` and `after lifetimeEnd`; empty = the creation.
	Event string `json:"event,omitempty"`

	// Id of the attempt that it opened or ended; empty = none.
	AttemptID string `json:"attemptId,omitempty"`

	// Checks of `cleared` and `suppressed`, in their order, up to the first that failed. Empty for
	// steps recorded before checks were recorded.
	Checks []DeliveryCheck `json:"checks,omitempty"`

	// State after the step.
	State DeliveryState `json:"state,omitempty"`
}

// DeliveryMember: an incident of the message.
type DeliveryMember struct {
	IncidentName string `json:"incidentName,omitempty"`

	// Empty for a condition on a whole data center.
	VMName string `json:"vmName,omitempty"`

	// Why the message does not name it, e.g. `SNOOZED`; empty = it does.
	DroppedReason string `json:"droppedReason,omitempty"`

	// Display name of the VM when the incident began; empty if `vm_name` is.
	VMDisplayName string `json:"vmDisplayName,omitempty"`
}

// ListDeliveriesRequest is a message of the API.
type ListDeliveriesRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	// Filter by incident; empty = all.
	IncidentName string `json:"incidentName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`

	// Filter by destination; empty = all.
	DestinationName string `json:"destinationName,omitempty"`

	// Filter by state; empty = all.
	States []DeliveryState `json:"states,omitempty"`

	// Filter by event; empty = all.
	Events []DeliveryEvent `json:"events,omitempty"`

	// Created in this range, Unix seconds, both ends included; 0 = open.
	StartTimeUnix int64 `json:"startTimeUnix,string,omitempty"`

	EndTimeUnix int64 `json:"endTimeUnix,string,omitempty"`
}

// ListDeliveriesResponse is a message of the API.
type ListDeliveriesResponse struct {
	// Newest first.
	Deliveries []Delivery `json:"deliveries,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// GetDeliveryRequest is a message of the API.
type GetDeliveryRequest struct {
	Name string `json:"name,omitempty"`
}

// DeliveryEvent is one of the DeliveryEvent constants.
type DeliveryEvent string

// Values of DeliveryEvent.
const (
	DeliveryEventUnspecified DeliveryEvent = "EVENT_UNSPECIFIED"

	DeliveryEventFiring DeliveryEvent = "FIRING"

	DeliveryEventRepeated DeliveryEvent = "REPEATED"

	DeliveryEventRecovered DeliveryEvent = "RECOVERED"

	DeliveryEventTest DeliveryEvent = "TEST"
)

// DeliveryState is one of the DeliveryState constants.
type DeliveryState string

// Values of DeliveryState.
const (
	DeliveryStateUnspecified DeliveryState = "STATE_UNSPECIFIED"

	DeliveryStateQueued DeliveryState = "QUEUED"

	DeliveryStateRechecking DeliveryState = "RECHECKING"

	DeliveryStateSending DeliveryState = "SENDING"

	DeliveryStateWaiting DeliveryState = "WAITING"

	// The endpoint accepted it. That does not mean that anyone has read it.
	DeliveryStateSent DeliveryState = "SENT"

	DeliveryStateSuppressed DeliveryState = "SUPPRESSED"

	DeliveryStateExpired DeliveryState = "EXPIRED"

	DeliveryStateFailed DeliveryState = "FAILED"
)

// DeliveryCheckKind is one of the DeliveryCheckKind constants.
type DeliveryCheckKind string

// Values of DeliveryCheckKind.
const (
	DeliveryCheckKindUnspecified DeliveryCheckKind = "KIND_UNSPECIFIED"

	// The destination exists.
	DeliveryCheckKindDestinationExists DeliveryCheckKind = "DESTINATION_EXISTS"

	// The destination is not paused.
	DeliveryCheckKindDestinationNotPaused DeliveryCheckKind = "DESTINATION_NOT_PAUSED"

	// Mail only: the recipient belongs to the destination, is verified, and accepts mail.
	DeliveryCheckKindRecipientEligible DeliveryCheckKind = "RECIPIENT_ELIGIBLE"

	// The incident still fires, as the notification says.
	DeliveryCheckKindIncidentFires DeliveryCheckKind = "INCIDENT_FIRES"

	// No newer notification makes this one redundant. For a recovery: the firing was sent, or may
	// have been.
	DeliveryCheckKindNotSuperseded DeliveryCheckKind = "NOT_SUPERSEDED"

	// The incident was not retired.
	DeliveryCheckKindIncidentNotRetired DeliveryCheckKind = "INCIDENT_NOT_RETIRED"

	// The VM exists.
	DeliveryCheckKindVMExists DeliveryCheckKind = "VM_EXISTS"

	// The rule exists.
	DeliveryCheckKindRuleExists DeliveryCheckKind = "RULE_EXISTS"

	// The rule's condition is the one that fired.
	DeliveryCheckKindRuleUnchanged DeliveryCheckKind = "RULE_UNCHANGED"

	// The rule still names the destination.
	DeliveryCheckKindDestinationNamed DeliveryCheckKind = "DESTINATION_NAMED"

	// The incident is not snoozed.
	DeliveryCheckKindNotSnoozed DeliveryCheckKind = "NOT_SNOOZED"
)
