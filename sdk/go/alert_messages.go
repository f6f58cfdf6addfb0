// Code generated from svc/monitoring/v1/alert.proto by "npm run generate". DO NOT EDIT.

package svc

import "context"

// PreviewAlertRule: estimates when a rule would have fired over stored history. Saves nothing and notifies no one.
func (c *Client) PreviewAlertRule(ctx context.Context, request *PreviewAlertRuleRequest) (*PreviewAlertRuleResponse, error) {
	return unary[PreviewAlertRuleResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "PreviewAlertRule"}, request)
}

// ReplayAlertRule: estimates which notifications a rule would have sent over stored history. Saves and sends
// nothing.
func (c *Client) ReplayAlertRule(ctx context.Context, request *ReplayAlertRuleRequest) (*ReplayAlertRuleResponse, error) {
	return unary[ReplayAlertRuleResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "ReplayAlertRule"}, request)
}

// SaveAlertRule: creates or edits a rule. Waits up to 500 ms for it to be applied.
func (c *Client) SaveAlertRule(ctx context.Context, request *SaveAlertRuleRequest) (*SaveAlertRuleResponse, error) {
	return unary[SaveAlertRuleResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "SaveAlertRule", isMutation: true}, request)
}

// GetAlertRule is a message of the API.
func (c *Client) GetAlertRule(ctx context.Context, request *GetAlertRuleRequest) (*AlertRule, error) {
	return unary[AlertRule](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "GetAlertRule"}, request)
}

// ListAlertRules is a message of the API.
func (c *Client) ListAlertRules(ctx context.Context, request *ListAlertRulesRequest) (*ListAlertRulesResponse, error) {
	return unary[ListAlertRulesResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "ListAlertRules"}, request)
}

// DeleteAlertRule: deletes a rule and retires its instances. No recovery is sent.
func (c *Client) DeleteAlertRule(ctx context.Context, request *DeleteAlertRuleRequest) (*DeleteAlertRuleResponse, error) {
	return unary[DeleteAlertRuleResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "DeleteAlertRule", isMutation: true}, request)
}

// ListAlertRuleTemplates: lists rule templates, one for each common need.
func (c *Client) ListAlertRuleTemplates(ctx context.Context, request *ListAlertRuleTemplatesRequest) (*ListAlertRuleTemplatesResponse, error) {
	return unary[ListAlertRuleTemplatesResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "ListAlertRuleTemplates"}, request)
}

// ListAlertInstances: lists the state of each rule for each VM, fired or not.
func (c *Client) ListAlertInstances(ctx context.Context, request *ListAlertInstancesRequest) (*ListAlertInstancesResponse, error) {
	return unary[ListAlertInstancesResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "ListAlertInstances"}, request)
}

// GetAlertInstance: returns the state of a rule for one series of a VM, its start, and the path that led there.
func (c *Client) GetAlertInstance(ctx context.Context, request *GetAlertInstanceRequest) (*AlertInstance, error) {
	return unary[AlertInstance](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "GetAlertInstance"}, request)
}

// ExplainAlertInstance: recomputes the path of an instance over a period from stored samples, by the current rule,
// whether or not it fired. Saves nothing and notifies no one.
func (c *Client) ExplainAlertInstance(ctx context.Context, request *ExplainAlertInstanceRequest) (*ExplainAlertInstanceResponse, error) {
	return unary[ExplainAlertInstanceResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "ExplainAlertInstance"}, request)
}

// ListIncidents: newest first.
func (c *Client) ListIncidents(ctx context.Context, request *ListIncidentsRequest) (*ListIncidentsResponse, error) {
	return unary[ListIncidentsResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "ListIncidents"}, request)
}

// GetIncident is a message of the API.
func (c *Client) GetIncident(ctx context.Context, request *GetIncidentRequest) (*Incident, error) {
	return unary[Incident](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "GetIncident"}, request)
}

// ExplainIncident: explains why it fired: the deciding samples, and whether stored history leads to the same
// decision.
func (c *Client) ExplainIncident(ctx context.Context, request *ExplainIncidentRequest) (*ExplainIncidentResponse, error) {
	return unary[ExplainIncidentResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "ExplainIncident"}, request)
}

// AcknowledgeIncident: records that someone is looking into it. The incident keeps firing, and reminders continue.
// Only for people: with a session, not with a key.
func (c *Client) AcknowledgeIncident(ctx context.Context, request *AcknowledgeIncidentRequest) (*Incident, error) {
	return unary[Incident](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "AcknowledgeIncident", isMutation: true}, request)
}

// SnoozeIncident: suppresses notifications until the given time; evaluation continues. A second call replaces the
// end.
// Only for people: with a session, not with a key.
func (c *Client) SnoozeIncident(ctx context.Context, request *SnoozeIncidentRequest) (*Incident, error) {
	return unary[Incident](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "SnoozeIncident", isMutation: true}, request)
}

// UnsnoozeIncident is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) UnsnoozeIncident(ctx context.Context, request *UnsnoozeIncidentRequest) (*Incident, error) {
	return unary[Incident](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "UnsnoozeIncident", isMutation: true}, request)
}

// AcknowledgeIncidents: acknowledgeIncident for several at once: acknowledges all that it can. A resend does the rest.
// Only for people: with a session, not with a key.
func (c *Client) AcknowledgeIncidents(ctx context.Context, request *AcknowledgeIncidentsRequest) (*AcknowledgeIncidentsResponse, error) {
	return unary[AcknowledgeIncidentsResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "AcknowledgeIncidents", isMutation: true}, request)
}

// SnoozeIncidents: snoozeIncident for several at once: snoozes all that it can. A resend does the rest.
// Only for people: with a session, not with a key.
func (c *Client) SnoozeIncidents(ctx context.Context, request *SnoozeIncidentsRequest) (*SnoozeIncidentsResponse, error) {
	return unary[SnoozeIncidentsResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "SnoozeIncidents", isMutation: true}, request)
}

// WatchIncidents: streams the open incidents, then every change. Ends with an error when the caller loses access
// or cannot keep up, or when the service stops. Call it again then.
// An error of take, or the end of the context, ends it too.
func (c *Client) WatchIncidents(ctx context.Context, request *WatchIncidentsRequest, take func(*WatchIncidentsResponse) error) error {
	return watch(ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "WatchIncidents"}, request, take)
}

// CreateDestination: creates a destination. The secret is returned once.
func (c *Client) CreateDestination(ctx context.Context, request *CreateDestinationRequest) (*CreateDestinationResponse, error) {
	return unary[CreateDestinationResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "CreateDestination", isMutation: true}, request)
}

// GetDestination is a message of the API.
func (c *Client) GetDestination(ctx context.Context, request *GetDestinationRequest) (*Destination, error) {
	return unary[Destination](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "GetDestination"}, request)
}

// ListDestinations is a message of the API.
func (c *Client) ListDestinations(ctx context.Context, request *ListDestinationsRequest) (*ListDestinationsResponse, error) {
	return unary[ListDestinationsResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "ListDestinations"}, request)
}

// UpdateDestination: changes name, URL or recipients. Recipients that are kept remain verified.
func (c *Client) UpdateDestination(ctx context.Context, request *UpdateDestinationRequest) (*Destination, error) {
	return unary[Destination](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "UpdateDestination", isMutation: true}, request)
}

// DeleteDestination is a message of the API.
func (c *Client) DeleteDestination(ctx context.Context, request *DeleteDestinationRequest) (*DeleteDestinationResponse, error) {
	return unary[DeleteDestinationResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "DeleteDestination", isMutation: true}, request)
}

// VerifyDestination: resends verification mails to unconfirmed recipients, except those who unsubscribed.
// Only for people: with a session, not with a key.
func (c *Client) VerifyDestination(ctx context.Context, request *VerifyDestinationRequest) (*VerifyDestinationResponse, error) {
	return unary[VerifyDestinationResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "VerifyDestination", isMutation: true}, request)
}

// SendTestNotification: sends a test message to the destination, or to each of its verified recipients.
// Only for people: with a session, not with a key.
func (c *Client) SendTestNotification(ctx context.Context, request *SendTestNotificationRequest) (*SendTestNotificationResponse, error) {
	return unary[SendTestNotificationResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "SendTestNotification", isMutation: true}, request)
}

// PauseDestination is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) PauseDestination(ctx context.Context, request *PauseDestinationRequest) (*Destination, error) {
	return unary[Destination](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "PauseDestination", isMutation: true}, request)
}

// ResumeDestination is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) ResumeDestination(ctx context.Context, request *ResumeDestinationRequest) (*Destination, error) {
	return unary[Destination](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "ResumeDestination", isMutation: true}, request)
}

// RotateWebhookSecret: creates a new signing secret; the old one also signs during the overlap.
// Only for people: with a session, not with a key.
func (c *Client) RotateWebhookSecret(ctx context.Context, request *RotateWebhookSecretRequest) (*RotateWebhookSecretResponse, error) {
	return unary[RotateWebhookSecretResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "RotateWebhookSecret", isMutation: true}, request)
}

// ListDeliveries is a message of the API.
func (c *Client) ListDeliveries(ctx context.Context, request *ListDeliveriesRequest) (*ListDeliveriesResponse, error) {
	return unary[ListDeliveriesResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "ListDeliveries"}, request)
}

// GetDelivery is a message of the API.
func (c *Client) GetDelivery(ctx context.Context, request *GetDeliveryRequest) (*Delivery, error) {
	return unary[Delivery](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "GetDelivery"}, request)
}

// ListNotices: notices about alerting itself: limits that are reached, destinations that the service paused.
// Newest first.
func (c *Client) ListNotices(ctx context.Context, request *ListNoticesRequest) (*ListNoticesResponse, error) {
	return unary[ListNoticesResponse](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "ListNotices"}, request)
}

// GetProjectOverview: returns counts of the project: VMs, incidents, rules, deliveries, and its limits.
func (c *Client) GetProjectOverview(ctx context.Context, request *GetProjectOverviewRequest) (*ProjectOverview, error) {
	return unary[ProjectOverview](ctx, c, method{service: "svc.monitoring.v1.AlertService", name: "GetProjectOverview"}, request)
}

// PreviewAlertRuleRequest is a message of the API.
type PreviewAlertRuleRequest struct {
	// `projects/p`.
	ProjectName string `json:"projectName,omitempty"`

	// As in SaveAlertRule. Evaluated even if `enabled` is false; destinations are ignored.
	Spec *AlertRuleSpec `json:"spec,omitempty"`

	// Length of history before now, 1 to 604,800.
	HistorySeconds int32 `json:"historySeconds,omitempty"`

	// Also return the `trace` of this VM, which the rule selects. Full VM resource name; empty = no
	// trace.
	TraceVMName string `json:"traceVmName,omitempty"`

	// Labels of the traced series, such as its mount; empty = the series of the VM itself.
	TraceLabels map[string]string `json:"traceLabels,omitempty"`

	// true: also return `instances`.
	WithInstances bool `json:"withInstances,omitempty"`
}

// PreviewAlertRuleResponse is a message of the API.
type PreviewAlertRuleResponse struct {
	QueryStatus PreviewAlertRuleResponseQueryStatus `json:"queryStatus,omitempty"`

	HistoryStatus PreviewedHistoryStatus `json:"historyStatus,omitempty"`

	// Sampling intervals with a value of the metric, over all selected VMs; never more than expected.
	EvaluatedSamples int64 `json:"evaluatedSamples,string,omitempty"`

	// Sampling intervals of the VMs within the requested history, since each was first known.
	ExpectedSamples int64 `json:"expectedSamples,string,omitempty"`

	// VM by VM, oldest first.
	WouldHaveFired []PreviewAlertRuleResponseFiring `json:"wouldHaveFired,omitempty"`

	// true: the list is incomplete.
	Truncated bool `json:"truncated,omitempty"`

	// The traced series over the history, or over its last 86,400 s if it is longer. Absent if it was
	// not requested or its history could not be read. `rule_name` and `path` are empty.
	Trace *ExplainAlertInstanceResponse `json:"trace,omitempty"`

	// At most 200: those that would have fired first, then the others, VM by VM.
	Instances []PreviewAlertRuleResponseInstance `json:"instances,omitempty"`

	// Instances beyond these 200.
	InstancesOmitted int64 `json:"instancesOmitted,string,omitempty"`

	// Number of VMs without a value of the metric in the history, or whose history could not be read.
	// Nothing is known about them.
	UnknownVMs int64 `json:"unknownVms,string,omitempty"`

	// Their names, at most 20.
	UnknownVMNames []string `json:"unknownVmNames,omitempty"`

	// Bounds of the history.
	StartUnixMs int64 `json:"startUnixMs,string,omitempty"`

	EndUnixMs int64 `json:"endUnixMs,string,omitempty"`

	// Current display names of the VMs in `unknown_vm_names`, in that order.
	UnknownVMDisplayNames []string `json:"unknownVmDisplayNames,omitempty"`
}

// PreviewAlertRuleResponseFiring is a message of the API.
type PreviewAlertRuleResponseFiring struct {
	// Full VM resource name.
	VMName string `json:"vmName,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`

	// First breaching observation. May be before the requested history, by at most
	// `sustainedSeconds` and 90 s.
	StartUnix int64 `json:"startUnix,string,omitempty"`

	// The observation that completed the recovery; absent while it still fires at the end.
	EndUnix *int64 `json:"endUnix,string,omitempty"`

	// Current display name of the VM.
	VMDisplayName string `json:"vmDisplayName,omitempty"`
}

// PreviewAlertRuleResponseInstance: one series of one VM over the history.
type PreviewAlertRuleResponseInstance struct {
	// Full VM resource name.
	VMName string `json:"vmName,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`

	// Number of times it would have fired, including firings that are not listed.
	Firings int32 `json:"firings,omitempty"`

	// Contiguous up to the end of the history, or of the VM.
	Segments []ExplainAlertInstanceResponseSegment `json:"segments,omitempty"`

	// true: only the newest 100 segments are listed; the time before them is not covered.
	SegmentsTruncated bool `json:"segmentsTruncated,omitempty"`

	// Current display name of the VM.
	VMDisplayName string `json:"vmDisplayName,omitempty"`
}

// PreviewedHistory: coverage of the requested history. It is a message because its values share names with others.
type PreviewedHistory struct{}

// ReplayAlertRuleRequest is a message of the API.
type ReplayAlertRuleRequest struct {
	// `projects/p`.
	ProjectName string `json:"projectName,omitempty"`

	// As in SaveAlertRule. Replayed even if `enabled` is false.
	Spec *AlertRuleSpec `json:"spec,omitempty"`

	// Length of history before now, 1 to 86,400.
	HistorySeconds int32 `json:"historySeconds,omitempty"`

	// At most 20 of the VMs that the rule selects. Empty = all of them, if they are at most 20.
	VMNames []string `json:"vmNames,omitempty"`
}

// ReplayAlertRuleResponse: an estimate. The rule counts as applied at the start of the history. Samples are evaluated in the
// order of their times; each destination accepts at once, as it is now; no incident is acknowledged
// or snoozed. The silence of a whole data center is judged by the replayed VMs alone.
type ReplayAlertRuleResponse struct {
	// Oldest first, at most 500, with at most 2 MiB of bodies.
	Notifications []ReplayAlertRuleResponseNotification `json:"notifications,omitempty"`

	// true: there were more; the list has the first ones.
	Truncated bool `json:"truncated,omitempty"`

	// The replayed period.
	StartTimeUnix int64 `json:"startTimeUnix,string,omitempty"`

	EndTimeUnix int64 `json:"endTimeUnix,string,omitempty"`

	// Full resource names of the replayed VMs.
	VMNames []string `json:"vmNames,omitempty"`

	// VMs whose history could not be read. They are left out, so nothing is known about them.
	UnreadVMNames []string `json:"unreadVmNames,omitempty"`

	// Sampling intervals with a reading that the metric needs, over all replayed VMs; never more than
	// expected.
	ObservedSamples int64 `json:"observedSamples,string,omitempty"`

	// Sampling intervals of the VMs within the period, since each was first known.
	ExpectedSamples int64 `json:"expectedSamples,string,omitempty"`

	// Current display names of the VMs in `unread_vm_names`, in that order.
	UnreadVMDisplayNames []string `json:"unreadVmDisplayNames,omitempty"`
}

// ReplayAlertRuleResponseNotification is a message of the API.
type ReplayAlertRuleResponseNotification struct {
	// Time at which it would have been sent or, if it is not sent, queued.
	AtUnix int64 `json:"atUnix,string,omitempty"`

	// Never TEST.
	Event DeliveryEvent `json:"event,omitempty"`

	// Full VM resource name; empty for a condition of a whole data center.
	VMName string `json:"vmName,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`

	// Full resource name. Present only for callers who may change destinations.
	DestinationName *string `json:"destinationName,omitempty"`

	// SENT or SUPPRESSED.
	Outcome DeliveryState `json:"outcome,omitempty"`

	// Reason if not sent, e.g. `PAUSED`, `SUPERSEDED`, `RECIPIENT_NOT_VERIFIED`; else empty.
	Reason string `json:"reason,omitempty"`

	// Text that would have been sent: a JSON document; for mail, subject and text. Names and links
	// of the rule and the incident in it lead nowhere. Present only for notifications that are
	// sent, and only for callers who may change destinations.
	Body *string `json:"body,omitempty"`

	// Address of the mail recipient. Present only for mail, and only for callers who may change
	// destinations.
	Recipient *string `json:"recipient,omitempty"`

	// Current display name of the VM; empty if `vm_name` is.
	VMDisplayName string `json:"vmDisplayName,omitempty"`

	// Present if `destination_name` is.
	DestinationDisplayName *string `json:"destinationDisplayName,omitempty"`
}

// SaveAlertRuleRequest is a message of the API.
type SaveAlertRuleRequest struct {
	Spec *AlertRuleSpec `json:"spec,omitempty"`

	// UUID made by the client; the last part of the rule's name.
	ID string `json:"id,omitempty"`

	// UUID made by the client, distinct from `id`; a retry reuses it.
	RequestID string `json:"requestId,omitempty"`

	// "0" to create, otherwise the version that the edit is based on.
	ExpectedVersion string `json:"expectedVersion,omitempty"`

	// `projects/p`.
	ProjectName string `json:"projectName,omitempty"`
}

// SaveAlertRuleResponse is a message of the API.
type SaveAlertRuleResponse struct {
	AppliedVersion int64 `json:"appliedVersion,string,omitempty"`

	SyncStatus AlertRuleSyncStatus `json:"syncStatus,omitempty"`

	Name string `json:"name,omitempty"`

	Version int64 `json:"version,string,omitempty"`

	SyncError string `json:"syncError,omitempty"`
}

// GetAlertRuleRequest is a message of the API.
type GetAlertRuleRequest struct {
	Name string `json:"name,omitempty"`
}

// ListAlertRulesRequest is a message of the API.
type ListAlertRulesRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`
}

// ListAlertRulesResponse is a message of the API.
type ListAlertRulesResponse struct {
	Rules []AlertRule `json:"rules,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// DeleteAlertRuleRequest is a message of the API.
type DeleteAlertRuleRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	ExpectedVersion string `json:"expectedVersion,omitempty"`
}

// DeleteAlertRuleResponse is a message of the API.
type DeleteAlertRuleResponse struct{}

// ListAlertInstancesRequest is a message of the API.
type ListAlertInstancesRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	// Filter by rule; empty = all.
	RuleName string `json:"ruleName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`

	// Filter by state; empty = all. RETIRED is refused: lists leave those instances out.
	States []AlertInstanceState `json:"states,omitempty"`

	// Filter by VM; empty = all.
	VMName string `json:"vmName,omitempty"`

	// Filter by data state; unspecified = all.
	DataState AlertInstanceDataState `json:"dataState,omitempty"`
}

// ListAlertInstancesResponse is a message of the API.
type ListAlertInstancesResponse struct {
	Instances []AlertInstance `json:"instances,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// GetAlertInstanceRequest: the instance's name, or its rule and VM, with its labels if it has any.
type GetAlertInstanceRequest struct {
	Name string `json:"name,omitempty"`

	RuleName string `json:"ruleName,omitempty"`

	VMName string `json:"vmName,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`
}

// ExplainAlertInstanceRequest: the instance as in `GetAlertInstanceRequest`, and a period of at most 86,400 seconds.
type ExplainAlertInstanceRequest struct {
	Name string `json:"name,omitempty"`

	RuleName string `json:"ruleName,omitempty"`

	VMName string `json:"vmName,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`

	StartTimeUnix int64 `json:"startTimeUnix,string,omitempty"`

	// Not later than now.
	EndTimeUnix int64 `json:"endTimeUnix,string,omitempty"`
}

// ExplainAlertInstanceResponse: the result of evaluating stored samples in the order of their times. Actual notifications may
// differ, because they follow the order in which samples arrived.
type ExplainAlertInstanceResponse struct {
	RuleName string `json:"ruleName,omitempty"`

	VMName string `json:"vmName,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`

	// Condition of the current rule.
	Condition *ExplainIncidentResponseCondition `json:"condition,omitempty"`

	// Every value of the metric within the period.
	Samples []ExplainIncidentResponseSample `json:"samples,omitempty"`

	// Gaps between two samples, and after the last one.
	Gaps []ExplainIncidentResponseGap `json:"gaps,omitempty"`

	// They cover the whole period. All of them are recomputed.
	Segments []ExplainAlertInstanceResponseSegment `json:"segments,omitempty"`

	// Each step has `source` RECOMPUTED. The first may be before the period, by at most
	// `sustainedSeconds` and 90 s.
	Path []AlertInstanceStep `json:"path,omitempty"`

	// Current display names of the rule and the VM; empty for a rule that is not saved.
	RuleDisplayName string `json:"ruleDisplayName,omitempty"`

	VMDisplayName string `json:"vmDisplayName,omitempty"`
}

// ExplainAlertInstanceResponseSegment: a span of time without a change of state or data state.
type ExplainAlertInstanceResponseSegment struct {
	State AlertInstanceState `json:"state,omitempty"`

	DataState AlertInstanceDataState `json:"dataState,omitempty"`

	StartUnixMs int64 `json:"startUnixMs,string,omitempty"`

	EndUnixMs int64 `json:"endUnixMs,string,omitempty"`

	// Event that began it; empty = it begins with the period.
	Cause string `json:"cause,omitempty"`
}

// ListAlertRuleTemplatesRequest is a message of the API.
type ListAlertRuleTemplatesRequest struct {
	ProjectName string `json:"projectName,omitempty"`
}

// ListAlertRuleTemplatesResponse is a message of the API.
type ListAlertRuleTemplatesResponse struct {
	Templates []AlertRuleTemplate `json:"templates,omitempty"`
}

// AlertRuleTemplate is a message of the API.
type AlertRuleTemplate struct {
	// Stable id: `cpu`, `guest-memory`, `filesystem-usage`, `unexpected-stop`,
	// `telemetry-unavailable`.
	TemplateID string `json:"templateId,omitempty"`

	// Purpose and limitation, in a sentence or two.
	Description string `json:"description,omitempty"`

	// Can be saved unchanged; it selects all VMs.
	Spec *AlertRuleSpec `json:"spec,omitempty"`
}

// ListNoticesRequest is a message of the API.
type ListNoticesRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`
}

// ListNoticesResponse is a message of the API.
type ListNoticesResponse struct {
	Notices []Notice `json:"notices,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// Notice is a message of the API.
type Notice struct {
	// `projects/p/notices/n`.
	Name string `json:"name,omitempty"`

	Kind NoticeKind `json:"kind,omitempty"`

	// Full name of the rule, destination, VM or project it is about.
	SubjectName string `json:"subjectName,omitempty"`

	// What happened and what to do, in a sentence or two.
	Text string `json:"text,omitempty"`

	RaisedUnix int64 `json:"raisedUnix,string,omitempty"`

	// Time at which the cause ended; absent while it lasts.
	EndedUnix *int64 `json:"endedUnix,string,omitempty"`
}

// GetProjectOverviewRequest is a message of the API.
type GetProjectOverviewRequest struct {
	// `projects/p`.
	ProjectName string `json:"projectName,omitempty"`
}

// ProjectOverview: counts of the project at one moment.
type ProjectOverview struct {
	// Time at which it was counted.
	CountedUnix int64 `json:"countedUnix,string,omitempty"`

	VMs *ProjectOverviewVMCounts `json:"vms,omitempty"`

	Telemetry *ProjectOverviewTelemetryCounts `json:"telemetry,omitempty"`

	Incidents *ProjectOverviewIncidentCounts `json:"incidents,omitempty"`

	Rules *ProjectOverviewRuleCounts `json:"rules,omitempty"`

	Deliveries *ProjectOverviewDeliveryCounts `json:"deliveries,omitempty"`

	// As in GetProjectLimits.
	Limits []ProjectLimit `json:"limits,omitempty"`

	// Data centers of the project's VMs, by name.
	Datacenters []ProjectOverviewDatacenter `json:"datacenters,omitempty"`
}

// ProjectOverviewVMCounts is a message of the API.
type ProjectOverviewVMCounts struct {
	// VMs that exist; retired ones are not counted.
	Total int64 `json:"total,string,omitempty"`

	// Number of those with expanded monitoring on.
	Expanded int64 `json:"expanded,string,omitempty"`
}

// ProjectOverviewTelemetryCounts: each VM is counted in exactly one.
type ProjectOverviewTelemetryCounts struct {
	// Observed within the last 90 seconds, and its data center reports.
	Live int64 `json:"live,string,omitempty"`

	// Observed, but not recently, or its data center is stale.
	Stale int64 `json:"stale,string,omitempty"`

	// Never observed.
	Never int64 `json:"never,string,omitempty"`

	// Its newest observation could not be read.
	Error int64 `json:"error,string,omitempty"`
}

// ProjectOverviewIncidentCounts is a message of the API.
type ProjectOverviewIncidentCounts struct {
	// Open incidents.
	Firing int64 `json:"firing,string,omitempty"`

	// Open incidents that are neither acknowledged nor snoozed.
	Attention int64 `json:"attention,string,omitempty"`

	Acknowledged int64 `json:"acknowledged,string,omitempty"`

	Snoozed int64 `json:"snoozed,string,omitempty"`

	// Open incidents by severity.
	Critical int64 `json:"critical,string,omitempty"`

	Warning int64 `json:"warning,string,omitempty"`

	Info int64 `json:"info,string,omitempty"`
}

// ProjectOverviewRuleCounts: each rule is counted in exactly one.
type ProjectOverviewRuleCounts struct {
	// Enabled, and its newest version is applied.
	Applied int64 `json:"applied,string,omitempty"`

	// Its newest version is not applied yet.
	Pending int64 `json:"pending,string,omitempty"`

	// Its newest version could not be applied.
	Failed int64 `json:"failed,string,omitempty"`

	// Paused by its editors (`enabled` is false).
	Paused int64 `json:"paused,string,omitempty"`
}

// ProjectOverviewDeliveryCounts is a message of the API.
type ProjectOverviewDeliveryCounts struct {
	// Not ended: queued, rechecking, sending or waiting.
	UnderWay int64 `json:"underWay,string,omitempty"`

	// Ended within the last 24 hours, by state.
	Sent int64 `json:"sent,string,omitempty"`

	Suppressed int64 `json:"suppressed,string,omitempty"`

	Expired int64 `json:"expired,string,omitempty"`

	Failed int64 `json:"failed,string,omitempty"`
}

// ProjectOverviewDatacenter is a message of the API.
type ProjectOverviewDatacenter struct {
	// E.g. `DC-1`.
	Name string `json:"name,omitempty"`

	State ProjectOverviewDatacenterState `json:"state,omitempty"`

	// Start of this state; absent = it has been in this state since it was first seen.
	SinceUnix *int64 `json:"sinceUnix,string,omitempty"`

	// Number of the project's VMs in it.
	VMs int64 `json:"vms,string,omitempty"`
}

// PreviewAlertRuleResponseQueryStatus is one of the PreviewAlertRuleResponseQueryStatus constants.
type PreviewAlertRuleResponseQueryStatus string

// Values of PreviewAlertRuleResponseQueryStatus.
const (
	PreviewAlertRuleResponseQueryStatusUnspecified PreviewAlertRuleResponseQueryStatus = "QUERY_STATUS_UNSPECIFIED"

	PreviewAlertRuleResponseQueryStatusOk PreviewAlertRuleResponseQueryStatus = "OK"

	// The history of some VMs could not be read, so they are left out.
	PreviewAlertRuleResponseQueryStatusPartial PreviewAlertRuleResponseQueryStatus = "PARTIAL"

	// No history could be read.
	PreviewAlertRuleResponseQueryStatusFailed PreviewAlertRuleResponseQueryStatus = "FAILED"
)

// PreviewedHistoryStatus is one of the PreviewedHistoryStatus constants.
type PreviewedHistoryStatus string

// Values of PreviewedHistoryStatus.
const (
	PreviewedHistoryStatusUnspecified PreviewedHistoryStatus = "STATUS_UNSPECIFIED"

	// Every selected VM has values from the start on; gaps show in the counts.
	PreviewedHistoryStatusComplete PreviewedHistoryStatus = "COMPLETE"

	PreviewedHistoryStatusPartial PreviewedHistoryStatus = "PARTIAL"

	// No value of the metric.
	PreviewedHistoryStatusNone PreviewedHistoryStatus = "NONE"
)

// NoticeKind is one of the NoticeKind constants.
type NoticeKind string

// Values of NoticeKind.
const (
	NoticeKindUnspecified NoticeKind = "KIND_UNSPECIFIED"

	// A rule has more instances than the project may have; the newest are not evaluated.
	NoticeKindInstanceLimit NoticeKind = "INSTANCE_LIMIT"

	// The service paused a destination, for the given reason.
	NoticeKindDestinationPaused NoticeKind = "DESTINATION_PAUSED"

	// Mail to a recipient bounced permanently.
	NoticeKindRecipientBounced NoticeKind = "RECIPIENT_BOUNCED"

	// Keys, CI connections or owners were added, or a credential was ended by an owner or because
	// it leaked. Visible only to the project's owners, and to the member who owned the key.
	NoticeKindAccessChanged NoticeKind = "ACCESS_CHANGED"

	// Readings of VMs arrive but cannot be stored: their names or labels are too long, or reserved.
	NoticeKindReadingsRefused NoticeKind = "READINGS_REFUSED"

	// Two collectors report that the VM runs; rows of one of them are refused.
	NoticeKindVMContested NoticeKind = "VM_CONTESTED"

	// A destination rejects all messages, also the plainest form of those of a chat.
	NoticeKindMessagesRefused NoticeKind = "MESSAGES_REFUSED"
)

// ProjectOverviewDatacenterState is one of the ProjectOverviewDatacenterState constants.
type ProjectOverviewDatacenterState string

// Values of ProjectOverviewDatacenterState.
const (
	ProjectOverviewDatacenterStateUnspecified ProjectOverviewDatacenterState = "STATE_UNSPECIFIED"

	ProjectOverviewDatacenterStateLive ProjectOverviewDatacenterState = "LIVE"

	ProjectOverviewDatacenterStateStale ProjectOverviewDatacenterState = "STALE"
)

func (r *SaveAlertRuleRequest) requestID() string { return r.RequestID }

func (r *DeleteAlertRuleRequest) requestID() string { return r.RequestID }

func (r *AcknowledgeIncidentRequest) requestID() string { return r.RequestID }

func (r *SnoozeIncidentRequest) requestID() string { return r.RequestID }

func (r *UnsnoozeIncidentRequest) requestID() string { return r.RequestID }

func (r *AcknowledgeIncidentsRequest) requestID() string { return r.RequestID }

func (r *SnoozeIncidentsRequest) requestID() string { return r.RequestID }

func (r *CreateDestinationRequest) requestID() string { return r.RequestID }

func (r *UpdateDestinationRequest) requestID() string { return r.RequestID }

func (r *DeleteDestinationRequest) requestID() string { return r.RequestID }

func (r *VerifyDestinationRequest) requestID() string { return r.RequestID }

func (r *SendTestNotificationRequest) requestID() string { return r.RequestID }

func (r *PauseDestinationRequest) requestID() string { return r.RequestID }

func (r *ResumeDestinationRequest) requestID() string { return r.RequestID }

func (r *RotateWebhookSecretRequest) requestID() string { return r.RequestID }
