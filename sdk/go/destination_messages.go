// Code generated from svc/monitoring/v1/destination.proto by "npm run generate". DO NOT EDIT.

package svc

// WebhookTarget is a message of the API.
type WebhookTarget struct {
	// https URL. Write-only: responses contain only its host and its last four characters.
	URL string `json:"url,omitempty"`
}

// SlackTarget is a message of the API.
type SlackTarget struct {
	// `https://hooks.slack.com/...`. Write-only.
	URL string `json:"url,omitempty"`
}

// TeamsTarget is a message of the API.
type TeamsTarget struct {
	// URL of a Teams workflow. Write-only.
	URL string `json:"url,omitempty"`
}

// DiscordTarget is a message of the API.
type DiscordTarget struct {
	// `https://discord.com/api/webhooks/...`. Write-only.
	URL string `json:"url,omitempty"`
}

// EmailTarget is a message of the API.
type EmailTarget struct {
	Recipients []EmailRecipient `json:"recipients,omitempty"`
}

// EmailRecipient is a message of the API.
type EmailRecipient struct {
	// Verified address of a member of the project. Only for callers who may write.
	Address string `json:"address,omitempty"`

	// Output only.
	State EmailRecipientState `json:"state,omitempty"`

	// false: no longer a member, so nothing is sent. Output only.
	IsMember bool `json:"isMember,omitempty"`

	VerifiedUnix *int64 `json:"verifiedUnix,string,omitempty"`

	// Why the mail server has not accepted the verification mail, in its words; empty = none. Only for
	// callers who may write. Output only.
	MailProblem string `json:"mailProblem,omitempty"`
}

// Destination is a message of the API.
type Destination struct {
	// `projects/p/destinations/d`; assigned by the service.
	Name string `json:"name,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	Webhook *WebhookTarget `json:"webhook,omitempty"`

	Email *EmailTarget `json:"email,omitempty"`

	Slack *SlackTarget `json:"slack,omitempty"`

	Teams *TeamsTarget `json:"teams,omitempty"`

	Discord *DiscordTarget `json:"discord,omitempty"`

	State DestinationState `json:"state,omitempty"`

	// The reason while it is paused.
	PausedReason string `json:"pausedReason,omitempty"`

	// Host and last four characters of the URL; empty for mail.
	Host string `json:"host,omitempty"`

	LastFour string `json:"lastFour,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	UpdatedUnix int64 `json:"updatedUnix,string,omitempty"`

	// Webhooks only: the previous secret also signs until this time.
	SecretOverlapEndsUnix *int64 `json:"secretOverlapEndsUnix,string,omitempty"`

	// First failed attempt since one was accepted, the URL changed or the destination was resumed;
	// absent = none. After 24 hours without a failure the next one counts as the first.
	FailingSinceUnix *int64 `json:"failingSinceUnix,string,omitempty"`

	// The newest delivery to it. Only in GetDestination and ListDestinations; absent = none yet.
	LastDelivery *LastDelivery `json:"lastDelivery,omitempty"`

	// How long a message waits for further incidents of its rule, which it then names too: at most
	// 300; 0 = one message per incident. Always present in responses. If absent on creation: no wait
	// for a webhook, otherwise the service's (`SVC_GROUP_WAIT_SECONDS`).
	GroupWaitSeconds *int32 `json:"groupWaitSeconds,omitempty"`

	// The newest failed attempt, even if later ones succeeded. Only in GetDestination and
	// ListDestinations; absent = none is known.
	LastError *LastError `json:"lastError,omitempty"`
}

// LastError is a message of the API.
type LastError struct {
	AtUnix int64 `json:"atUnix,string,omitempty"`

	// What went wrong, without addresses and secrets.
	Error string `json:"error,omitempty"`
}

// LastDelivery is a message of the API.
type LastDelivery struct {
	// `projects/p/deliveries/d`.
	Name string `json:"name,omitempty"`

	State DeliveryState `json:"state,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	// Start of its last attempt; absent = none yet.
	AttemptedUnix *int64 `json:"attemptedUnix,string,omitempty"`

	// What went wrong with that attempt; empty = nothing, or it is in progress.
	Error string `json:"error,omitempty"`
}

// CreateDestinationRequest is a message of the API.
type CreateDestinationRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	Destination *Destination `json:"destination,omitempty"`
}

// CreateDestinationResponse is a message of the API.
type CreateDestinationResponse struct {
	Destination *Destination `json:"destination,omitempty"`

	// `whsec_...`. Only in the first response.
	WebhookSecret string `json:"webhookSecret,omitempty"`

	// false: this is the response to a repeated request; the secret cannot be read again.
	SecretAvailable bool `json:"secretAvailable,omitempty"`
}

// GetDestinationRequest is a message of the API.
type GetDestinationRequest struct {
	Name string `json:"name,omitempty"`
}

// ListDestinationsRequest is a message of the API.
type ListDestinationsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`
}

// ListDestinationsResponse is a message of the API.
type ListDestinationsResponse struct {
	Destinations []Destination `json:"destinations,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// DeleteDestinationRequest is a message of the API.
type DeleteDestinationRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// DeleteDestinationResponse is a message of the API.
type DeleteDestinationResponse struct{}

// UpdateDestinationRequest is a message of the API.
type UpdateDestinationRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// Empty = unchanged.
	DisplayName string `json:"displayName,omitempty"`

	Webhook *WebhookTarget `json:"webhook,omitempty"`

	Email *EmailTarget `json:"email,omitempty"`

	Slack *SlackTarget `json:"slack,omitempty"`

	Teams *TeamsTarget `json:"teams,omitempty"`

	Discord *DiscordTarget `json:"discord,omitempty"`

	// 0 to 300; absent = unchanged. Messages that already wait keep their time.
	GroupWaitSeconds *int32 `json:"groupWaitSeconds,omitempty"`
}

// VerifyDestinationRequest is a message of the API.
type VerifyDestinationRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// VerifyDestinationResponse is a message of the API.
type VerifyDestinationResponse struct {
	Destination *Destination `json:"destination,omitempty"`

	// Recipients to whom a mail is being sent.
	Mails int32 `json:"mails,omitempty"`

	// Unverified recipients who are not mailed now, because they were mailed recently or too many
	// mails are queued. Their current links stay valid; try again later.
	NotMailed int32 `json:"notMailed,omitempty"`
}

// SendTestNotificationRequest is a message of the API.
type SendTestNotificationRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// SendTestNotificationResponse is a message of the API.
type SendTestNotificationResponse struct {
	// One for each mail recipient, otherwise one. `GetDelivery` returns the result.
	DeliveryNames []string `json:"deliveryNames,omitempty"`
}

// PauseDestinationRequest is a message of the API.
type PauseDestinationRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// At most 200 characters.
	Reason string `json:"reason,omitempty"`
}

// ResumeDestinationRequest is a message of the API.
type ResumeDestinationRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// RotateWebhookSecretRequest is a message of the API.
type RotateWebhookSecretRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// 0 = older secrets are discarded at once; at most 86,400.
	OverlapSeconds int32 `json:"overlapSeconds,omitempty"`
}

// RotateWebhookSecretResponse is a message of the API.
type RotateWebhookSecretResponse struct {
	Destination *Destination `json:"destination,omitempty"`

	// `whsec_...`. Only in the first response.
	WebhookSecret string `json:"webhookSecret,omitempty"`

	SecretAvailable bool `json:"secretAvailable,omitempty"`
}

// EmailRecipientState is one of the EmailRecipientState constants.
type EmailRecipientState string

// Values of EmailRecipientState.
const (
	EmailRecipientStateUnspecified EmailRecipientState = "STATE_UNSPECIFIED"

	// Has not confirmed the address, so only verification mails are sent.
	EmailRecipientStateInvited EmailRecipientState = "INVITED"

	EmailRecipientStateVerified EmailRecipientState = "VERIFIED"

	EmailRecipientStateUnsubscribed EmailRecipientState = "UNSUBSCRIBED"

	// Mail to the address bounced permanently.
	EmailRecipientStateBounced EmailRecipientState = "BOUNCED"

	EmailRecipientStateRemoved EmailRecipientState = "REMOVED"
)

// DestinationState is one of the DestinationState constants.
type DestinationState string

// Values of DestinationState.
const (
	DestinationStateUnspecified DestinationState = "STATE_UNSPECIFIED"

	DestinationStateActive DestinationState = "ACTIVE"

	DestinationStatePaused DestinationState = "PAUSED"
)
