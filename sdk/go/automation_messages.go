// Code generated from svc/iam/v1/automation.proto by "npm run generate". DO NOT EDIT.

package svc

import "context"

// ExchangeCiToken: exchanges a signed CI identity assertion for a 15-minute access token. No Authorization header.
func (c *Client) ExchangeCiToken(ctx context.Context, request *ExchangeCiTokenRequest) (*ExchangeCiTokenResponse, error) {
	return unary[ExchangeCiTokenResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "ExchangeCiToken", isMutation: true, isAnonymous: true}, request)
}

// ListPermissionTemplates: lists the templates for service accounts.
func (c *Client) ListPermissionTemplates(ctx context.Context, request *ListPermissionTemplatesRequest) (*ListPermissionTemplatesResponse, error) {
	return unary[ListPermissionTemplatesResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "ListPermissionTemplates"}, request)
}

// CreateServiceAccount is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) CreateServiceAccount(ctx context.Context, request *CreateServiceAccountRequest) (*ServiceAccount, error) {
	return unary[ServiceAccount](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "CreateServiceAccount", isMutation: true}, request)
}

// ListServiceAccounts is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) ListServiceAccounts(ctx context.Context, request *ListServiceAccountsRequest) (*ListServiceAccountsResponse, error) {
	return unary[ListServiceAccountsResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "ListServiceAccounts"}, request)
}

// GetServiceAccount is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) GetServiceAccount(ctx context.Context, request *GetServiceAccountRequest) (*ServiceAccount, error) {
	return unary[ServiceAccount](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "GetServiceAccount"}, request)
}

// UpdateServiceAccount: a removed capability takes effect on the next request of its keys and tokens.
// Only for people: with a session, not with a key.
func (c *Client) UpdateServiceAccount(ctx context.Context, request *UpdateServiceAccountRequest) (*ServiceAccount, error) {
	return unary[ServiceAccount](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "UpdateServiceAccount", isMutation: true}, request)
}

// DisableServiceAccount: its keys and tokens stop at once. Enabling it again does not bring back its old tokens.
// Only for people: with a session, not with a key.
func (c *Client) DisableServiceAccount(ctx context.Context, request *DisableServiceAccountRequest) (*ServiceAccount, error) {
	return unary[ServiceAccount](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "DisableServiceAccount", isMutation: true}, request)
}

// EnableServiceAccount is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) EnableServiceAccount(ctx context.Context, request *EnableServiceAccountRequest) (*ServiceAccount, error) {
	return unary[ServiceAccount](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "EnableServiceAccount", isMutation: true}, request)
}

// DeleteServiceAccount: deletes it for good, with its keys and CI connections.
// Only for people: with a session, not with a key.
func (c *Client) DeleteServiceAccount(ctx context.Context, request *DeleteServiceAccountRequest) (*DeleteServiceAccountResponse, error) {
	return unary[DeleteServiceAccountResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "DeleteServiceAccount", isMutation: true}, request)
}

// CreateKey: only the first response contains the secret.
// Only for people: with a session, not with a key.
func (c *Client) CreateKey(ctx context.Context, request *CreateKeyRequest) (*CreateKeyResponse, error) {
	return unary[CreateKeyResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "CreateKey", isMutation: true}, request)
}

// RotateKey: creates a successor with a new lifetime; the old key works until the overlap ends.
// Only for people: with a session, not with a key.
func (c *Client) RotateKey(ctx context.Context, request *RotateKeyRequest) (*RotateKeyResponse, error) {
	return unary[RotateKeyResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "RotateKey", isMutation: true}, request)
}

// RevokeKey: a member whose personal key an owner revokes is notified.
// Only for people: with a session, not with a key.
func (c *Client) RevokeKey(ctx context.Context, request *RevokeKeyRequest) (*Key, error) {
	return unary[Key](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "RevokeKey", isMutation: true}, request)
}

// ListKeys is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) ListKeys(ctx context.Context, request *ListKeysRequest) (*ListKeysResponse, error) {
	return unary[ListKeysResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "ListKeys"}, request)
}

// GetKey is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) GetKey(ctx context.Context, request *GetKeyRequest) (*Key, error) {
	return unary[Key](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "GetKey"}, request)
}

// ListCredentials: lists everything that gives access to the project without a sign-in: keys and CI connections.
// Only for people: with a session, not with a key.
func (c *Client) ListCredentials(ctx context.Context, request *ListCredentialsRequest) (*ListCredentialsResponse, error) {
	return unary[ListCredentialsResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "ListCredentials"}, request)
}

// StartCiVerification: returns a pairing code, once, and the step to paste into the workflow.
// Only for people: with a session, not with a key.
func (c *Client) StartCiVerification(ctx context.Context, request *StartCiVerificationRequest) (*StartCiVerificationResponse, error) {
	return unary[StartCiVerificationResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "StartCiVerification", isMutation: true}, request)
}

// SubmitCiVerification: called by the temporary workflow step. Proves an identity, grants nothing.
func (c *Client) SubmitCiVerification(ctx context.Context, request *SubmitCiVerificationRequest) (*SubmitCiVerificationResponse, error) {
	return unary[SubmitCiVerificationResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "SubmitCiVerification", isMutation: true, isAnonymous: true}, request)
}

// GetCiVerification is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) GetCiVerification(ctx context.Context, request *GetCiVerificationRequest) (*CiVerification, error) {
	return unary[CiVerification](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "GetCiVerification"}, request)
}

// ListCiVerifications is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) ListCiVerifications(ctx context.Context, request *ListCiVerificationsRequest) (*ListCiVerificationsResponse, error) {
	return unary[ListCiVerificationsResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "ListCiVerifications"}, request)
}

// ApproveCiVerification: approves exactly the reviewed claims, identified by their digest.
// Only for people: with a session, not with a key.
func (c *Client) ApproveCiVerification(ctx context.Context, request *ApproveCiVerificationRequest) (*CiConnection, error) {
	return unary[CiConnection](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "ApproveCiVerification", isMutation: true}, request)
}

// RejectCiVerification is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) RejectCiVerification(ctx context.Context, request *RejectCiVerificationRequest) (*CiVerification, error) {
	return unary[CiVerification](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "RejectCiVerification", isMutation: true}, request)
}

// ListCiConnections is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) ListCiConnections(ctx context.Context, request *ListCiConnectionsRequest) (*ListCiConnectionsResponse, error) {
	return unary[ListCiConnectionsResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "ListCiConnections"}, request)
}

// GetCiConnection is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) GetCiConnection(ctx context.Context, request *GetCiConnectionRequest) (*CiConnection, error) {
	return unary[CiConnection](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "GetCiConnection"}, request)
}

// UpdateCiConnection: a change of permissions invalidates the tokens issued before it.
// Only for people: with a session, not with a key.
func (c *Client) UpdateCiConnection(ctx context.Context, request *UpdateCiConnectionRequest) (*CiConnection, error) {
	return unary[CiConnection](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "UpdateCiConnection", isMutation: true}, request)
}

// DisableCiConnection is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) DisableCiConnection(ctx context.Context, request *DisableCiConnectionRequest) (*CiConnection, error) {
	return unary[CiConnection](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "DisableCiConnection", isMutation: true}, request)
}

// EnableCiConnection is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) EnableCiConnection(ctx context.Context, request *EnableCiConnectionRequest) (*CiConnection, error) {
	return unary[CiConnection](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "EnableCiConnection", isMutation: true}, request)
}

// DeleteCiConnection is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) DeleteCiConnection(ctx context.Context, request *DeleteCiConnectionRequest) (*DeleteCiConnectionResponse, error) {
	return unary[DeleteCiConnectionResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "DeleteCiConnection", isMutation: true}, request)
}

// EnrolAgent: exchanges an enrolment token for an agent's key. Called once by the agent inside the guest.
func (c *Client) EnrolAgent(ctx context.Context, request *EnrolAgentRequest) (*EnrolAgentResponse, error) {
	return unary[EnrolAgentResponse](ctx, c, method{service: "svc.iam.v1.AutomationService", name: "EnrolAgent", isMutation: true, isAnonymous: true}, request)
}

// ExchangeCiTokenRequest is a message of the API.
type ExchangeCiTokenRequest struct {
	// Full approved trust name: `projects/p/ciConnections/c`.
	TrustName string `json:"trustName,omitempty"`

	// The CI platform's signed identity token.
	Assertion string `json:"assertion,omitempty"`
}

// ExchangeCiTokenResponse is a message of the API.
type ExchangeCiTokenResponse struct {
	AccessToken string `json:"accessToken,omitempty"`

	ProjectName string `json:"projectName,omitempty"`

	ExpiresInSeconds int32 `json:"expiresInSeconds,omitempty"`
}

// ListPermissionTemplatesRequest is a message of the API.
type ListPermissionTemplatesRequest struct {
	ProjectName string `json:"projectName,omitempty"`
}

// ListPermissionTemplatesResponse is a message of the API.
type ListPermissionTemplatesResponse struct {
	Templates []PermissionTemplate `json:"templates,omitempty"`
}

// PermissionTemplate is a message of the API.
type PermissionTemplate struct {
	// E.g. `metrics-scraper`.
	Template string `json:"template,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	Description string `json:"description,omitempty"`

	Capabilities []string `json:"capabilities,omitempty"`
}

// ServiceAccount is a message of the API.
type ServiceAccount struct {
	// `projects/p/serviceAccounts/s`.
	Name string `json:"name,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	State ServiceAccountState `json:"state,omitempty"`

	// Limit on the capabilities of its keys and tokens.
	Capabilities []string `json:"capabilities,omitempty"`

	// Template that it was created from; empty = none.
	Template string `json:"template,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	UpdatedUnix int64 `json:"updatedUnix,string,omitempty"`

	CreatedBy string `json:"createdBy,omitempty"`

	// Number of keys that work.
	ActiveKeys int32 `json:"activeKeys,omitempty"`

	// Number of enabled CI connections.
	ActiveConnections int32 `json:"activeConnections,omitempty"`

	// Reason given when it was disabled; empty = not disabled.
	DisabledReason string `json:"disabledReason,omitempty"`

	// Name of the person who created it; empty = no person did, or the name is unknown.
	CreatedByDisplayName string `json:"createdByDisplayName,omitempty"`
}

// CreateServiceAccountRequest is a message of the API.
type CreateServiceAccountRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	// Id of a template. Give either this or `capabilities`.
	Template string `json:"template,omitempty"`

	Capabilities []string `json:"capabilities,omitempty"`
}

// ListServiceAccountsRequest is a message of the API.
type ListServiceAccountsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`
}

// ListServiceAccountsResponse is a message of the API.
type ListServiceAccountsResponse struct {
	ServiceAccounts []ServiceAccount `json:"serviceAccounts,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// GetServiceAccountRequest is a message of the API.
type GetServiceAccountRequest struct {
	Name string `json:"name,omitempty"`
}

// UpdateServiceAccountRequest is a message of the API.
type UpdateServiceAccountRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// Absent = unchanged.
	DisplayName *string `json:"displayName,omitempty"`

	// Absent = unchanged.
	Capabilities *CapabilityList `json:"capabilities,omitempty"`
}

// CapabilityList: optional list.
type CapabilityList struct {
	Values []string `json:"values,omitempty"`
}

// DisableServiceAccountRequest is a message of the API.
type DisableServiceAccountRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	Reason string `json:"reason,omitempty"`
}

// EnableServiceAccountRequest is a message of the API.
type EnableServiceAccountRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// DeleteServiceAccountRequest is a message of the API.
type DeleteServiceAccountRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// DeleteServiceAccountResponse is a message of the API.
type DeleteServiceAccountResponse struct{}

// Key: a credential without its secret.
type Key struct {
	// `projects/p/serviceAccounts/s/keys/k` or `projects/p/members/m/keys/k`.
	Name string `json:"name,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	State KeyState `json:"state,omitempty"`

	// Capabilities that it was created with. It never exceeds its owner's grants.
	Capabilities []string `json:"capabilities,omitempty"`

	// Current capabilities: the intersection with its owner's grants.
	EffectiveCapabilities []string `json:"effectiveCapabilities,omitempty"`

	// Last four characters of the secret.
	Last4 string `json:"last4,omitempty"`

	CreatedBy string `json:"createdBy,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	ExpiresUnix int64 `json:"expiresUnix,string,omitempty"`

	ExpiryWarning KeyExpiryWarning `json:"expiryWarning,omitempty"`

	// Time of the last use, up to 15 minutes late; absent = never.
	LastUsedUnix *int64 `json:"lastUsedUnix,string,omitempty"`

	// Name of the key that replaces it; empty = none.
	Successor string `json:"successor,omitempty"`

	OverlapEndsUnix *int64 `json:"overlapEndsUnix,string,omitempty"`

	RevokedReason string `json:"revokedReason,omitempty"`

	// Name of the person who created it; empty = no person did, or the name is unknown.
	CreatedByDisplayName string `json:"createdByDisplayName,omitempty"`

	// Addresses and networks that it may be used from; empty = any.
	Networks []string `json:"networks,omitempty"`

	// Uses with the right secret that were refused, and the last of them: its time, accurate to a
	// minute, and its reason; absent and empty = none.
	RefusedUses int64 `json:"refusedUses,string,omitempty"`

	LastRefusedUnix *int64 `json:"lastRefusedUnix,string,omitempty"`

	LastRefusedReason string `json:"lastRefusedReason,omitempty"`
}

// CreateKeyRequest is a message of the API.
type CreateKeyRequest struct {
	// `projects/p/serviceAccounts/s` or `projects/p/members/m`.
	Parent string `json:"parent,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	Capabilities []string `json:"capabilities,omitempty"`

	// At most 365 days; 0 = 90 days.
	LifetimeSeconds int32 `json:"lifetimeSeconds,omitempty"`

	// Addresses and networks that it may be used from, such as `192.0.2.7` or `10.0.0.0/8`; at most
	// 32; empty = any. They cannot be changed, and a successor keeps them.
	Networks []string `json:"networks,omitempty"`
}

// CreateKeyResponse is a message of the API.
type CreateKeyResponse struct {
	Key *Key `json:"key,omitempty"`

	// The key itself; only in the first response.
	Secret string `json:"secret,omitempty"`

	// false: this is the response to a repeated request; the secret cannot be read again.
	SecretAvailable bool `json:"secretAvailable,omitempty"`
}

// RotateKeyRequest is a message of the API.
type RotateKeyRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// How long the old key still works: 0 to 86,400.
	OverlapSeconds int32 `json:"overlapSeconds,omitempty"`

	// Lifetime of the successor; 0 = 90 days.
	LifetimeSeconds int32 `json:"lifetimeSeconds,omitempty"`
}

// RotateKeyResponse is a message of the API.
type RotateKeyResponse struct {
	// The successor of the rotated key.
	Key *Key `json:"key,omitempty"`

	Secret string `json:"secret,omitempty"`

	SecretAvailable bool `json:"secretAvailable,omitempty"`
}

// RevokeKeyRequest is a message of the API.
type RevokeKeyRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	Reason string `json:"reason,omitempty"`
}

// ListKeysRequest is a message of the API.
type ListKeysRequest struct {
	// `projects/p/serviceAccounts/s` or `projects/p/members/m`. `projects/p/serviceAccounts/-` lists
	// the keys of every service account, in the order of their creation.
	Parent string `json:"parent,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`

	// true includes keys that have ended.
	IncludeEnded bool `json:"includeEnded,omitempty"`
}

// ListKeysResponse is a message of the API.
type ListKeysResponse struct {
	Keys []Key `json:"keys,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// GetKeyRequest is a message of the API.
type GetKeyRequest struct {
	Name string `json:"name,omitempty"`
}

// Credential: a credential that gives access to a project without a sign-in. Its secret is left out.
type Credential struct {
	// Personal and service-account keys: `.../keys/k`, as for RevokeKey. CI connections:
	// `projects/p/ciConnections/c`, as for DisableCiConnection. Keys of collectors and agents have a
	// name that no method accepts; the operator revokes them.
	Name string `json:"name,omitempty"`

	Kind CredentialKind `json:"kind,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	State CredentialState `json:"state,omitempty"`

	// Member, service account, collector or VM that it acts for.
	OwnerName string `json:"ownerName,omitempty"`

	OwnerDisplayName string `json:"ownerDisplayName,omitempty"`

	// Address in the invitation of a member who has not proven any address; empty otherwise.
	OwnerUnprovenEmail string `json:"ownerUnprovenEmail,omitempty"`

	// Last four characters of the secret; empty for a CI connection, which has none.
	Last4 string `json:"last4,omitempty"`

	// Capabilities that it was created with.
	Capabilities []string `json:"capabilities,omitempty"`

	// Current capabilities.
	EffectiveCapabilities []string `json:"effectiveCapabilities,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	CreatedBy string `json:"createdBy,omitempty"`

	// End of its lifetime or overlap; absent = none.
	EndsUnix *int64 `json:"endsUnix,string,omitempty"`

	// Time of the last use, up to 15 minutes late; absent = never. For a CI connection, uses of its
	// tokens count.
	LastUsedUnix *int64 `json:"lastUsedUnix,string,omitempty"`

	// Reason for the revocation; empty = not revoked.
	RevokedReason string `json:"revokedReason,omitempty"`

	// Name of the person who created it; empty = no person did, or the name is unknown.
	CreatedByDisplayName string `json:"createdByDisplayName,omitempty"`

	// Addresses and networks that a key may be used from; empty = any.
	Networks []string `json:"networks,omitempty"`

	// Uses with the right secret that were refused, and the last of them: its time, accurate to a
	// minute, and its reason; absent and empty = none.
	RefusedUses int64 `json:"refusedUses,string,omitempty"`

	LastRefusedUnix *int64 `json:"lastRefusedUnix,string,omitempty"`

	LastRefusedReason string `json:"lastRefusedReason,omitempty"`
}

// ListCredentialsRequest is a message of the API.
type ListCredentialsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`

	// Kinds to list; empty = all.
	Kinds []CredentialKind `json:"kinds,omitempty"`

	// true includes credentials that have ended.
	IncludeEnded bool `json:"includeEnded,omitempty"`
}

// ListCredentialsResponse is a message of the API.
type ListCredentialsResponse struct {
	Credentials []Credential `json:"credentials,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// CiClaim: one claim of a CI identity, as observed.
type CiClaim struct {
	// E.g. `repository_id`.
	Claim string `json:"claim,omitempty"`

	// Absent = the token did not have the claim.
	Value *string `json:"value,omitempty"`

	// true = an exchange must show exactly this value.
	Bound bool `json:"bound,omitempty"`

	// Why it is bound or only recorded, in a sentence.
	Why string `json:"why,omitempty"`
}

// StartCiVerificationRequest is a message of the API.
type StartCiVerificationRequest struct {
	// `projects/p/serviceAccounts/s`; it must be active.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	Capabilities []string `json:"capabilities,omitempty"`

	// Kind of issuer: `github` (also when empty), `gitlab`, `buildkite`, `circleci`, or the name
	// of one that the operator has configured.
	Issuer string `json:"issuer,omitempty"`
}

// StartCiVerificationResponse is a message of the API.
type StartCiVerificationResponse struct {
	Verification *CiVerification `json:"verification,omitempty"`

	// Last part of the verification's name.
	SetupID string `json:"setupId,omitempty"`

	// Value of the temporary secret SVC_SETUP_CODE; only in the first response.
	PairingCode string `json:"pairingCode,omitempty"`

	SecretAvailable bool `json:"secretAvailable,omitempty"`

	Audience string `json:"audience,omitempty"`

	ExpiresUnix int64 `json:"expiresUnix,string,omitempty"`

	// Step to paste into the workflow; it needs only bash and curl.
	WorkflowStep string `json:"workflowStep,omitempty"`
}

// SubmitCiVerificationRequest is a message of the API.
type SubmitCiVerificationRequest struct {
	SetupID string `json:"setupId,omitempty"`

	PairingCode string `json:"pairingCode,omitempty"`

	Assertion string `json:"assertion,omitempty"`
}

// SubmitCiVerificationResponse is a message of the API.
type SubmitCiVerificationResponse struct {
	// The observed claims, for the job's log. They grant nothing.
	Claims []CiClaim `json:"claims,omitempty"`

	ClaimsDigest string `json:"claimsDigest,omitempty"`
}

// CiRefusedProof: a refused proof that had the right pairing code. At most one per minute is kept.
type CiRefusedProof struct {
	// E.g. `PULL_REQUEST`, or `BAD_ASSERTION WRONG_AUDIENCE`.
	Code string `json:"code,omitempty"`

	RefusedUnix int64 `json:"refusedUnix,string,omitempty"`

	// Names of the claims that caused the refusal.
	Claims []string `json:"claims,omitempty"`
}

// CiVerification is a message of the API.
type CiVerification struct {
	// `projects/p/ciVerifications/v`.
	Name string `json:"name,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	State CiVerificationState `json:"state,omitempty"`

	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	Capabilities []string `json:"capabilities,omitempty"`

	Issuer string `json:"issuer,omitempty"`

	Audience string `json:"audience,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	ExpiresUnix int64 `json:"expiresUnix,string,omitempty"`

	CreatedBy string `json:"createdBy,omitempty"`

	ObservedUnix *int64 `json:"observedUnix,string,omitempty"`

	// The observed identity, claim by claim.
	Claims []CiClaim `json:"claims,omitempty"`

	// Digest to approve; empty = nothing observed yet.
	ClaimsDigest string `json:"claimsDigest,omitempty"`

	// Warnings and remarks for the reviewer.
	Warnings []string `json:"warnings,omitempty"`

	// Name of the approved connection.
	ConnectionName string `json:"connectionName,omitempty"`

	// Last refused proof; absent = none.
	LastRefusal *CiRefusedProof `json:"lastRefusal,omitempty"`

	// URL of the issuer when the verification was started: `iss` of its tokens.
	IssuerURL string `json:"issuerUrl,omitempty"`

	// Number of wrong pairing codes; those of the last minute may be missing. Five from one source
	// lock out only that source, for ten minutes.
	WrongCodes int32 `json:"wrongCodes,omitempty"`

	// Step to paste into the workflow, as in the response of StartCiVerification. Only in
	// GetCiVerification, while a proof is awaited; empty otherwise.
	WorkflowStep string `json:"workflowStep,omitempty"`

	// Name of the person who created it; empty = no person did, or the name is unknown.
	CreatedByDisplayName string `json:"createdByDisplayName,omitempty"`

	ServiceAccountDisplayName string `json:"serviceAccountDisplayName,omitempty"`
}

// GetCiVerificationRequest is a message of the API.
type GetCiVerificationRequest struct {
	Name string `json:"name,omitempty"`
}

// ListCiVerificationsRequest is a message of the API.
type ListCiVerificationsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`
}

// ListCiVerificationsResponse is a message of the API.
type ListCiVerificationsResponse struct {
	Verifications []CiVerification `json:"verifications,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// ApproveCiVerificationRequest is a message of the API.
type ApproveCiVerificationRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	// A subset of the verification's capabilities.
	Capabilities []string `json:"capabilities,omitempty"`

	ClaimsDigest string `json:"claimsDigest,omitempty"`
}

// RejectCiVerificationRequest is a message of the API.
type RejectCiVerificationRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	Reason string `json:"reason,omitempty"`
}

// CiConnection: an approved connection: `SVC_TRUST` is its name.
type CiConnection struct {
	// `projects/p/ciConnections/c`: the trust name.
	Name string `json:"name,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	State CiConnectionState `json:"state,omitempty"`

	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	Capabilities []string `json:"capabilities,omitempty"`

	// Current capabilities of its tokens: the intersection with its service account's grants.
	EffectiveCapabilities []string `json:"effectiveCapabilities,omitempty"`

	Issuer string `json:"issuer,omitempty"`

	Audience string `json:"audience,omitempty"`

	// The bound claims.
	Claims []CiClaim `json:"claims,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	UpdatedUnix int64 `json:"updatedUnix,string,omitempty"`

	CreatedBy string `json:"createdBy,omitempty"`

	// Incremented by every change that invalidates earlier tokens.
	TokenEpoch int64 `json:"tokenEpoch,string,omitempty"`

	LastExchangeUnix *int64 `json:"lastExchangeUnix,string,omitempty"`

	VerificationName string `json:"verificationName,omitempty"`

	// URL of the issuer when the connection was verified. Jobs of other issuers are refused.
	IssuerURL string `json:"issuerUrl,omitempty"`

	// Refused exchanges, newest first, at most 10; one per minute is kept. Only in GetCiConnection.
	RecentRefusals []CiRefusedExchange `json:"recentRefusals,omitempty"`

	// Time of the newest recorded refusal; absent = none.
	LastRefusalUnix *int64 `json:"lastRefusalUnix,string,omitempty"`

	// Reason given when it was disabled; empty = not disabled.
	DisabledReason string `json:"disabledReason,omitempty"`

	// Name of the person who created it; empty = no person did, or the name is unknown.
	CreatedByDisplayName string `json:"createdByDisplayName,omitempty"`

	ServiceAccountDisplayName string `json:"serviceAccountDisplayName,omitempty"`
}

// CiRefusedExchange: refused exchanges of a connection that are recorded together. Claim values are only in the job's
// log.
type CiRefusedExchange struct {
	RefusedUnix int64 `json:"refusedUnix,string,omitempty"`

	// Correlation id, as in the log of the refused job.
	CorrelationID string `json:"correlationId,omitempty"`

	Causes []CiRefusedExchangeCause `json:"causes,omitempty"`

	Claims []CiRefusedExchangeClaim `json:"claims,omitempty"`

	// Numbers of the refused runs on their platform, such as `run_id`; at most 5. Runs whose token
	// could not be verified have none.
	Runs []string `json:"runs,omitempty"`
}

// CiRefusedExchangeCause is a message of the API.
type CiRefusedExchangeCause struct {
	// E.g. `IDENTITY_MISMATCH`, or `BAD_ASSERTION WRONG_AUDIENCE`.
	Code string `json:"code,omitempty"`

	Refusals int32 `json:"refusals,omitempty"`
}

// CiRefusedExchangeClaim: a claim that differs from the approved one.
type CiRefusedExchangeClaim struct {
	Claim string `json:"claim,omitempty"`

	// Unspecified: the record does not say which.
	Difference CiRefusedExchangeClaimDifference `json:"difference,omitempty"`
}

// ListCiConnectionsRequest is a message of the API.
type ListCiConnectionsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`
}

// ListCiConnectionsResponse is a message of the API.
type ListCiConnectionsResponse struct {
	Connections []CiConnection `json:"connections,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// GetCiConnectionRequest is a message of the API.
type GetCiConnectionRequest struct {
	Name string `json:"name,omitempty"`
}

// UpdateCiConnectionRequest is a message of the API.
type UpdateCiConnectionRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// Absent = unchanged.
	DisplayName *string `json:"displayName,omitempty"`

	// Absent = unchanged.
	Capabilities *CapabilityList `json:"capabilities,omitempty"`
}

// DisableCiConnectionRequest is a message of the API.
type DisableCiConnectionRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	Reason string `json:"reason,omitempty"`
}

// EnableCiConnectionRequest is a message of the API.
type EnableCiConnectionRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// DeleteCiConnectionRequest is a message of the API.
type DeleteCiConnectionRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// DeleteCiConnectionResponse is a message of the API.
type DeleteCiConnectionResponse struct{}

// EnrolAgentRequest is a message of the API.
type EnrolAgentRequest struct {
	EnrolmentToken string `json:"enrolmentToken,omitempty"`

	// Description of the guest for display: image and kernel.
	System string `json:"system,omitempty"`
}

// EnrolAgentResponse is a message of the API.
type EnrolAgentResponse struct {
	ProjectName string `json:"projectName,omitempty"`

	VMName string `json:"vmName,omitempty"`

	// Key that writes this VM's expanded samples and nothing else.
	Key string `json:"key,omitempty"`

	ExpiresUnix int64 `json:"expiresUnix,string,omitempty"`
}

// ServiceAccountState is one of the ServiceAccountState constants.
type ServiceAccountState string

// Values of ServiceAccountState.
const (
	ServiceAccountStateUnspecified ServiceAccountState = "STATE_UNSPECIFIED"

	ServiceAccountStateActive ServiceAccountState = "ACTIVE"

	ServiceAccountStateDisabled ServiceAccountState = "DISABLED"

	ServiceAccountStateDeleted ServiceAccountState = "DELETED"
)

// KeyState is one of the KeyState constants.
type KeyState string

// Values of KeyState.
const (
	KeyStateUnspecified KeyState = "STATE_UNSPECIFIED"

	KeyStateActive KeyState = "ACTIVE"

	// Replaced, but still works until `overlap_ends_unix`.
	KeyStateRotating KeyState = "ROTATING"

	KeyStateRevoked KeyState = "REVOKED"

	KeyStateExpired KeyState = "EXPIRED"
)

// KeyExpiryWarning: the shortest of these periods in which the key ends, by its lifetime or its overlap.
type KeyExpiryWarning string

// Values of KeyExpiryWarning.
const (
	KeyExpiryWarningUnspecified KeyExpiryWarning = "EXPIRY_WARNING_UNSPECIFIED"

	KeyExpiryWarningNone KeyExpiryWarning = "NONE"

	KeyExpiryWarningWithin14Days KeyExpiryWarning = "WITHIN_14_DAYS"

	KeyExpiryWarningWithin7Days KeyExpiryWarning = "WITHIN_7_DAYS"

	KeyExpiryWarningWithin1Day KeyExpiryWarning = "WITHIN_1_DAY"
)

// CredentialKind is one of the CredentialKind constants.
type CredentialKind string

// Values of CredentialKind.
const (
	CredentialKindUnspecified CredentialKind = "KIND_UNSPECIFIED"

	// Belongs to a member.
	CredentialKindPersonalKey CredentialKind = "PERSONAL_KEY"

	CredentialKindServiceAccountKey CredentialKind = "SERVICE_ACCOUNT_KEY"

	// Writes samples of a data center.
	CredentialKindCollectorKey CredentialKind = "COLLECTOR_KEY"

	// For the agent inside one VM.
	CredentialKindVMKey CredentialKind = "VM_KEY"

	// A CI workflow, which exchanges its identity for tokens of 15 minutes.
	CredentialKindCIConnection CredentialKind = "CI_CONNECTION"
)

// CredentialState is one of the CredentialState constants.
type CredentialState string

// Values of CredentialState.
const (
	CredentialStateUnspecified CredentialState = "STATE_UNSPECIFIED"

	CredentialStateActive CredentialState = "ACTIVE"

	// Replaced, but still works until `ends_unix`.
	CredentialStateRotating CredentialState = "ROTATING"

	// Not ended, but gives no access now: it is disabled, or its owner is disabled or deleted.
	CredentialStateDisabled CredentialState = "DISABLED"

	CredentialStateRevoked CredentialState = "REVOKED"

	CredentialStateExpired CredentialState = "EXPIRED"

	CredentialStateDeleted CredentialState = "DELETED"
)

// CiVerificationState is one of the CiVerificationState constants.
type CiVerificationState string

// Values of CiVerificationState.
const (
	CiVerificationStateUnspecified CiVerificationState = "STATE_UNSPECIFIED"

	CiVerificationStateAwaitingProof CiVerificationState = "AWAITING_PROOF"

	CiVerificationStateObserved CiVerificationState = "OBSERVED"

	CiVerificationStateApproved CiVerificationState = "APPROVED"

	CiVerificationStateRejected CiVerificationState = "REJECTED"

	CiVerificationStateExpired CiVerificationState = "EXPIRED"
)

// CiConnectionState is one of the CiConnectionState constants.
type CiConnectionState string

// Values of CiConnectionState.
const (
	CiConnectionStateUnspecified CiConnectionState = "STATE_UNSPECIFIED"

	CiConnectionStateEnabled CiConnectionState = "ENABLED"

	CiConnectionStateDisabled CiConnectionState = "DISABLED"

	CiConnectionStateDeleted CiConnectionState = "DELETED"
)

// CiRefusedExchangeClaimDifference is one of the CiRefusedExchangeClaimDifference constants.
type CiRefusedExchangeClaimDifference string

// Values of CiRefusedExchangeClaimDifference.
const (
	CiRefusedExchangeClaimDifferenceUnspecified CiRefusedExchangeClaimDifference = "DIFFERENCE_UNSPECIFIED"

	// It has another value.
	CiRefusedExchangeClaimDifferenceDifferent CiRefusedExchangeClaimDifference = "DIFFERENT"

	// It is missing from the token.
	CiRefusedExchangeClaimDifferenceMissing CiRefusedExchangeClaimDifference = "MISSING"
)

func (r *CreateServiceAccountRequest) requestID() string { return r.RequestID }

func (r *UpdateServiceAccountRequest) requestID() string { return r.RequestID }

func (r *DisableServiceAccountRequest) requestID() string { return r.RequestID }

func (r *EnableServiceAccountRequest) requestID() string { return r.RequestID }

func (r *DeleteServiceAccountRequest) requestID() string { return r.RequestID }

func (r *CreateKeyRequest) requestID() string { return r.RequestID }

func (r *RotateKeyRequest) requestID() string { return r.RequestID }

func (r *RevokeKeyRequest) requestID() string { return r.RequestID }

func (r *StartCiVerificationRequest) requestID() string { return r.RequestID }

func (r *ApproveCiVerificationRequest) requestID() string { return r.RequestID }

func (r *RejectCiVerificationRequest) requestID() string { return r.RequestID }

func (r *UpdateCiConnectionRequest) requestID() string { return r.RequestID }

func (r *DisableCiConnectionRequest) requestID() string { return r.RequestID }

func (r *EnableCiConnectionRequest) requestID() string { return r.RequestID }

func (r *DeleteCiConnectionRequest) requestID() string { return r.RequestID }
