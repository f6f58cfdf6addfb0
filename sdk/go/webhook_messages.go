// Code generated from svc/monitoring/v1/webhook.proto by "npm run generate". DO NOT EDIT.

package svc

// WebhookBody: the body of a webhook request, as JSON. Absent values were not observed.
type WebhookBody struct {
	// `incident.firing`, `incident.repeated`, `incident.recovered` or `test`.
	Type string `json:"type,omitempty"`

	// Time of rendering, RFC 3339.
	Timestamp string `json:"timestamp,omitempty"`

	Data *WebhookData `json:"data,omitempty"`
}

// WebhookData: long texts are cut, and end with the number of characters left out: `url` has the rest.
type WebhookData struct {
	ProjectName string `json:"projectName,omitempty"`

	// Empty in a test. In a test the names and texts below are empty too, and numbers and times are
	// absent.
	IncidentName string `json:"incidentName,omitempty"`

	State string `json:"state,omitempty"`

	RuleName string `json:"ruleName,omitempty"`

	RuleDisplayName string `json:"ruleDisplayName,omitempty"`

	RuleVersion *int64 `json:"ruleVersion,string,omitempty"`

	Severity string `json:"severity,omitempty"`

	// Empty for a condition on a whole data center.
	VMName string `json:"vmName,omitempty"`

	VMDisplayName string `json:"vmDisplayName,omitempty"`

	Labels map[string]string `json:"labels,omitempty"`

	MetricID string `json:"metricId,omitempty"`

	Unit string `json:"unit,omitempty"`

	Operator string `json:"operator,omitempty"`

	Threshold *float64 `json:"threshold,omitempty"`

	SustainedSeconds *int32 `json:"sustainedSeconds,omitempty"`

	Value *float64 `json:"value,omitempty"`

	ValueUnix *int64 `json:"valueUnix,string,omitempty"`

	// First observation that met the condition.
	StartedUnix *int64 `json:"startedUnix,string,omitempty"`

	// Time of the decision.
	FiredUnix *int64 `json:"firedUnix,string,omitempty"`

	RecoveredUnix *int64 `json:"recoveredUnix,string,omitempty"`

	// 0 for the first message of an incident.
	RepeatNumber int32 `json:"repeatNumber,omitempty"`

	// Link to the incident or destination.
	URL string `json:"url,omitempty"`

	// The destination that this message is for.
	DestinationName string `json:"destinationName,omitempty"`

	// Set while it fires and no data arrives. Missing data is neither a recovery nor a value.
	DataMissingSinceUnix *int64 `json:"dataMissingSinceUnix,string,omitempty"`

	// `NO_DATA`, `VM_STOPPED`, `CLOCK_AHEAD` or `DATACENTER_STALE`; with the field above.
	DataMissingReason *string `json:"dataMissingReason,omitempty"`

	// For a condition on a whole data center: its name, and the number of the project's silent VMs.
	Datacenter *string `json:"datacenter,omitempty"`

	SilentVMCount *int32 `json:"silentVmCount,omitempty"`

	// Number of labels left out because the body would be too long.
	LabelsLeftOut *int32 `json:"labelsLeftOut,omitempty"`

	// Labels of the rule when it fired; `labels` are those of the series.
	RuleLabels map[string]string `json:"ruleLabels,omitempty"`

	// The rule's runbook when it fired, what to do and a link. Empty = none.
	RunbookText string `json:"runbookText,omitempty"`

	RunbookURL string `json:"runbookUrl,omitempty"`

	// Data center of the VM. Empty when unknown, and for a condition on a whole data center.
	VMDatacenter string `json:"vmDatacenter,omitempty"`

	// Incidents of the rule that this message is about, if there are several; the fields above are
	// those of the first. Only for a destination that waits for further incidents.
	Incidents []GroupedIncident `json:"incidents,omitempty"`

	// Number of incidents left out because the body would be too long.
	IncidentsLeftOut *int32 `json:"incidentsLeftOut,omitempty"`
}

// GroupedIncident: one of the incidents of a message.
type GroupedIncident struct {
	IncidentName string `json:"incidentName,omitempty"`

	VMName string `json:"vmName,omitempty"`

	VMDisplayName string `json:"vmDisplayName,omitempty"`
}
