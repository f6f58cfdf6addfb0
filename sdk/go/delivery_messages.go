// Code generated from svc/monitoring/v1/delivery.proto by "npm run generate". DO NOT EDIT.

package svc

// Delivery is a message of the API.
type Delivery struct {
	// `projects/p/deliveries/d`.
	Name string `json:"name,omitempty"`

	// Empty for a test.
	IncidentName string `json:"incidentName,omitempty"`

	DestinationName string `json:"destinationName,omitempty"`

	Event DeliveryEvent `json:"event,omitempty"`

	State DeliveryState `json:"state,omitempty"`

	// Why it ended without being sent, e.g. `SNOOZED`.
	Reason string `json:"reason,omitempty"`

	Attempts []DeliveryAttempt `json:"attempts,omitempty"`

	NextAttemptUnix *int64 `json:"nextAttemptUnix,string,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	// Address of the mail recipient. Only for callers who may write.
	Recipient string `json:"recipient,omitempty"`
}

// DeliveryAttempt is a message of the API.
type DeliveryAttempt struct {
	AttemptID string `json:"attemptId,omitempty"`

	StartedUnix int64 `json:"startedUnix,string,omitempty"`

	// Absent while the attempt is under way.
	DurationMs *int64 `json:"durationMs,string,omitempty"`

	// `accepted`, `failed`, `unknown` or `refused`; empty while under way.
	Outcome string `json:"outcome,omitempty"`

	HTTPStatus *int32 `json:"httpStatus,omitempty"`

	Error string `json:"error,omitempty"`

	// The endpoint's answer, redacted, at most 4 KiB. Only in GetDelivery, and only for callers who
	// may write.
	AnswerExcerpt string `json:"answerExcerpt,omitempty"`
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

	// The endpoint accepted it. It says nothing about who read it.
	DeliveryStateSent DeliveryState = "SENT"

	DeliveryStateSuppressed DeliveryState = "SUPPRESSED"

	DeliveryStateExpired DeliveryState = "EXPIRED"

	DeliveryStateFailed DeliveryState = "FAILED"
)
