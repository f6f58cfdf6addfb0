// Code generated from svc/monitoring/v1/maintenance.proto by "npm run generate". DO NOT EDIT.

package svc

import "context"

// CreateMaintenanceWindow: creates a window that begins at once or later. A project has at most 50 that are not over.
// Only for people: with a session, not with a key.
func (c *Client) CreateMaintenanceWindow(ctx context.Context, request *CreateMaintenanceWindowRequest) (*MaintenanceWindow, error) {
	return unary[MaintenanceWindow](ctx, c, method{service: "svc.monitoring.v1.MaintenanceService", name: "CreateMaintenanceWindow", isMutation: true}, request)
}

// ListMaintenanceWindows: lists the windows that are not over, or all, in the order of their creation.
// Only for people: with a session, not with a key.
func (c *Client) ListMaintenanceWindows(ctx context.Context, request *ListMaintenanceWindowsRequest) (*ListMaintenanceWindowsResponse, error) {
	return unary[ListMaintenanceWindowsResponse](ctx, c, method{service: "svc.monitoring.v1.MaintenanceService", name: "ListMaintenanceWindows"}, request)
}

// EndMaintenanceWindow: ends an active window now, as at its end; cancels one that has not begun.
// Only for people: with a session, not with a key.
func (c *Client) EndMaintenanceWindow(ctx context.Context, request *EndMaintenanceWindowRequest) (*MaintenanceWindow, error) {
	return unary[MaintenanceWindow](ctx, c, method{service: "svc.monitoring.v1.MaintenanceService", name: "EndMaintenanceWindow", isMutation: true}, request)
}

// MaintenanceWindow is a message of the API.
type MaintenanceWindow struct {
	// `projects/p/maintenanceWindows/m`.
	Name string `json:"name,omitempty"`

	// Only incidents of this rule; empty = every rule.
	RuleName string `json:"ruleName,omitempty"`

	// Only incidents on this VM; empty = every VM, and conditions on whole data centers.
	VMName string `json:"vmName,omitempty"`

	FromUnix int64 `json:"fromUnix,string,omitempty"`

	UntilUnix int64 `json:"untilUnix,string,omitempty"`

	// Reason, in words.
	Note string `json:"note,omitempty"`

	State MaintenanceWindowState `json:"state,omitempty"`

	CreatedBy string `json:"createdBy,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	// Time at which it ended, on time or early; absent = it has not ended.
	EndedUnix *int64 `json:"endedUnix,string,omitempty"`

	// Who ended it early; empty = no one.
	EndedBy string `json:"endedBy,omitempty"`

	// Current display names of the rule, the VM, who planned it, and who ended it early.
	RuleDisplayName string `json:"ruleDisplayName,omitempty"`

	VMDisplayName string `json:"vmDisplayName,omitempty"`

	CreatedByDisplayName string `json:"createdByDisplayName,omitempty"`

	EndedByDisplayName string `json:"endedByDisplayName,omitempty"`
}

// CreateMaintenanceWindowRequest is a message of the API.
type CreateMaintenanceWindowRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// Empty = every rule.
	RuleName string `json:"ruleName,omitempty"`

	// Empty = every VM.
	VMName string `json:"vmName,omitempty"`

	// 0, or a past time = now. At most a year ahead.
	FromUnix int64 `json:"fromUnix,string,omitempty"`

	// At most 30 days after the start.
	UntilUnix int64 `json:"untilUnix,string,omitempty"`

	// At most 1,000 characters.
	Note string `json:"note,omitempty"`
}

// ListMaintenanceWindowsRequest is a message of the API.
type ListMaintenanceWindowsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`

	// true: also those that are over.
	IncludeOver bool `json:"includeOver,omitempty"`
}

// ListMaintenanceWindowsResponse is a message of the API.
type ListMaintenanceWindowsResponse struct {
	Windows []MaintenanceWindow `json:"windows,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// EndMaintenanceWindowRequest is a message of the API.
type EndMaintenanceWindowRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// MaintenanceWindowState is one of the MaintenanceWindowState constants.
type MaintenanceWindowState string

// Values of MaintenanceWindowState.
const (
	MaintenanceWindowStateUnspecified MaintenanceWindowState = "STATE_UNSPECIFIED"

	// It has not begun.
	MaintenanceWindowStateScheduled MaintenanceWindowState = "SCHEDULED"

	MaintenanceWindowStateActive MaintenanceWindowState = "ACTIVE"

	// It is over: incidents that still fire are being announced, once.
	MaintenanceWindowStateAnnouncing MaintenanceWindowState = "ANNOUNCING"

	MaintenanceWindowStateOver MaintenanceWindowState = "OVER"

	// It was ended before it began.
	MaintenanceWindowStateCancelled MaintenanceWindowState = "CANCELLED"
)

func (r *CreateMaintenanceWindowRequest) requestID() string { return r.RequestID }

func (r *EndMaintenanceWindowRequest) requestID() string { return r.RequestID }
