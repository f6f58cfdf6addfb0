// Code generated from svc/project/v1/project.proto by "npm run generate". DO NOT EDIT.

package svc

import "context"

// GetSelf: returns the signed-in person.
// Only for people: with a session, not with a key.
func (c *Client) GetSelf(ctx context.Context, request *GetSelfRequest) (*Person, error) {
	return unary[Person](ctx, c, method{service: "svc.project.v1.ProjectService", name: "GetSelf"}, request)
}

// GetServiceInfo: returns the configuration of this service that signed-in people need to know.
// Only for people: with a session, not with a key.
func (c *Client) GetServiceInfo(ctx context.Context, request *GetServiceInfoRequest) (*ServiceInfo, error) {
	return unary[ServiceInfo](ctx, c, method{service: "svc.project.v1.ProjectService", name: "GetServiceInfo"}, request)
}

// SignOutEverywhere: ends every session of the caller.
// Only for people: with a session, not with a key.
func (c *Client) SignOutEverywhere(ctx context.Context, request *SignOutEverywhereRequest) (*SignOutEverywhereResponse, error) {
	return unary[SignOutEverywhereResponse](ctx, c, method{service: "svc.project.v1.ProjectService", name: "SignOutEverywhere", isMutation: true}, request)
}

// ListSessions: lists the caller's live sessions.
// Only for people: with a session, not with a key.
func (c *Client) ListSessions(ctx context.Context, request *ListSessionsRequest) (*ListSessionsResponse, error) {
	return unary[ListSessionsResponse](ctx, c, method{service: "svc.project.v1.ProjectService", name: "ListSessions"}, request)
}

// EndSession: ends one of the caller's sessions and its open streams.
// Only for people: with a session, not with a key.
func (c *Client) EndSession(ctx context.Context, request *EndSessionRequest) (*EndSessionResponse, error) {
	return unary[EndSessionResponse](ctx, c, method{service: "svc.project.v1.ProjectService", name: "EndSession", isMutation: true}, request)
}

// ListProjects: lists the projects of which the caller is a member.
// Only for people: with a session, not with a key.
func (c *Client) ListProjects(ctx context.Context, request *ListProjectsRequest) (*ListProjectsResponse, error) {
	return unary[ListProjectsResponse](ctx, c, method{service: "svc.project.v1.ProjectService", name: "ListProjects"}, request)
}

// CreateProject: creates a project owned by the caller. Refused unless the operator lets people create projects.
// Only for people: with a session, not with a key.
func (c *Client) CreateProject(ctx context.Context, request *CreateProjectRequest) (*Project, error) {
	return unary[Project](ctx, c, method{service: "svc.project.v1.ProjectService", name: "CreateProject", isMutation: true}, request)
}

// GetProject is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) GetProject(ctx context.Context, request *GetProjectRequest) (*Project, error) {
	return unary[Project](ctx, c, method{service: "svc.project.v1.ProjectService", name: "GetProject"}, request)
}

// UpdateProject: changes settings of a project.
// Only for people: with a session, not with a key.
func (c *Client) UpdateProject(ctx context.Context, request *UpdateProjectRequest) (*Project, error) {
	return unary[Project](ctx, c, method{service: "svc.project.v1.ProjectService", name: "UpdateProject", isMutation: true}, request)
}

// ListMembers is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) ListMembers(ctx context.Context, request *ListMembersRequest) (*ListMembersResponse, error) {
	return unary[ListMembersResponse](ctx, c, method{service: "svc.project.v1.ProjectService", name: "ListMembers"}, request)
}

// InviteMember: sends the link by email if the service sends email; also returns it, once.
// Only for people: with a session, not with a key.
func (c *Client) InviteMember(ctx context.Context, request *InviteMemberRequest) (*InviteMemberResponse, error) {
	return unary[InviteMemberResponse](ctx, c, method{service: "svc.project.v1.ProjectService", name: "InviteMember", isMutation: true}, request)
}

// ListInvitations is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) ListInvitations(ctx context.Context, request *ListInvitationsRequest) (*ListInvitationsResponse, error) {
	return unary[ListInvitationsResponse](ctx, c, method{service: "svc.project.v1.ProjectService", name: "ListInvitations"}, request)
}

// RevokeInvitation is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) RevokeInvitation(ctx context.Context, request *RevokeInvitationRequest) (*Invitation, error) {
	return unary[Invitation](ctx, c, method{service: "svc.project.v1.ProjectService", name: "RevokeInvitation", isMutation: true}, request)
}

// RemoveMember: also revokes the member's personal keys. A project keeps at least one owner.
// Only for people: with a session, not with a key.
func (c *Client) RemoveMember(ctx context.Context, request *RemoveMemberRequest) (*RemoveMemberResponse, error) {
	return unary[RemoveMemberResponse](ctx, c, method{service: "svc.project.v1.ProjectService", name: "RemoveMember", isMutation: true}, request)
}

// SetMemberRole is a message of the API.
// Only for people: with a session, not with a key.
func (c *Client) SetMemberRole(ctx context.Context, request *SetMemberRoleRequest) (*Member, error) {
	return unary[Member](ctx, c, method{service: "svc.project.v1.ProjectService", name: "SetMemberRole", isMutation: true}, request)
}

// EnrolVm: returns a one-time token for the agent inside a VM. The VM may be new.
// Only for people: with a session, not with a key.
func (c *Client) EnrolVm(ctx context.Context, request *EnrolVmRequest) (*EnrolVmResponse, error) {
	return unary[EnrolVmResponse](ctx, c, method{service: "svc.project.v1.ProjectService", name: "EnrolVm", isMutation: true}, request)
}

// UnenrolVm: ends expanded monitoring of the VM and revokes its agent's key.
// Only for people: with a session, not with a key.
func (c *Client) UnenrolVm(ctx context.Context, request *UnenrolVmRequest) (*UnenrolVmResponse, error) {
	return unary[UnenrolVmResponse](ctx, c, method{service: "svc.project.v1.ProjectService", name: "UnenrolVm", isMutation: true}, request)
}

// GetSelfRequest is a message of the API.
type GetSelfRequest struct{}

// Person is a message of the API.
type Person struct {
	// `people/<id>`.
	Name string `json:"name,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	Email string `json:"email,omitempty"`

	// Kind of sign-in of this session: `oidc`, `link`, `email` or `cli`.
	SignInMethod string `json:"signInMethod,omitempty"`

	SessionExpiresUnix int64 `json:"sessionExpiresUnix,string,omitempty"`

	// Address named by the invitation, whose ownership is not proven; empty = none.
	UnprovenEmail string `json:"unprovenEmail,omitempty"`
}

// GetServiceInfoRequest is a message of the API.
type GetServiceInfoRequest struct{}

// ServiceInfo is a message of the API.
type ServiceInfo struct {
	Version string `json:"version,omitempty"`

	// Interval at which sources are read.
	SamplingIntervalSeconds int32 `json:"samplingIntervalSeconds,omitempty"`

	// true: the service sends email. Otherwise people pass links on themselves, and mail destinations
	// fail.
	HasMail bool `json:"hasMail,omitempty"`

	CIIssuers []ServiceInfoCiIssuer `json:"ciIssuers,omitempty"`

	// Data centers whose VMs can be enrolled for expanded monitoring.
	ExpandedDatacenters []string `json:"expandedDatacenters,omitempty"`

	// true: people may create projects (CreateProject).
	PeopleCreateProjects bool `json:"peopleCreateProjects,omitempty"`
}

// ServiceInfoCiIssuer: an issuer of CI identities that connections can be made for.
type ServiceInfoCiIssuer struct {
	// Its name in StartCiVerification.
	Name string `json:"name,omitempty"`

	// Kind of platform: `github`, `gitlab`, `buildkite` or `circleci`.
	Kind string `json:"kind,omitempty"`

	// Value of `iss` in its tokens.
	URL string `json:"url,omitempty"`
}

// SignOutEverywhereRequest is a message of the API.
type SignOutEverywhereRequest struct {
	RequestID string `json:"requestId,omitempty"`
}

// SignOutEverywhereResponse is a message of the API.
type SignOutEverywhereResponse struct {
	Sessions int32 `json:"sessions,omitempty"`
}

// ListedSession: a browser or command line in which the caller is signed in.
type ListedSession struct {
	// `people/p/sessions/s`.
	Name string `json:"name,omitempty"`

	// Kind of sign-in: `oidc`, `link`, `email` or `cli`.
	SignInMethod string `json:"signInMethod,omitempty"`

	// User-Agent of the client that signed in, shortened.
	Agent string `json:"agent,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	// Accurate to a few minutes.
	LastUsedUnix int64 `json:"lastUsedUnix,string,omitempty"`

	// Latest end of the session. It ends earlier if it is idle for too long.
	ExpiresUnix int64 `json:"expiresUnix,string,omitempty"`

	// true for the session of this request.
	Current bool `json:"current,omitempty"`
}

// ListSessionsRequest is a message of the API.
type ListSessionsRequest struct{}

// ListSessionsResponse is a message of the API.
type ListSessionsResponse struct {
	// Oldest first; a person has at most 50.
	Sessions []ListedSession `json:"sessions,omitempty"`
}

// EndSessionRequest is a message of the API.
type EndSessionRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// EndSessionResponse is a message of the API.
type EndSessionResponse struct{}

// Project is a message of the API.
type Project struct {
	// `projects/p`.
	Name string `json:"name,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	// The caller's role.
	Role Role `json:"role,omitempty"`

	// The caller's membership: `projects/p/members/m`, the parent of personal keys.
	MemberName string `json:"memberName,omitempty"`

	// How long the newest observation counts as the present in PromQL queries without a
	// `lookback_delta`.
	PromQLLookbackSeconds int32 `json:"promqlLookbackSeconds,omitempty"`
}

// UpdateProjectRequest is a message of the API.
type UpdateProjectRequest struct {
	// `projects/p`.
	Name string `json:"name,omitempty"`

	// A UUID. A repeated request with the same id gets the same response.
	RequestID string `json:"requestId,omitempty"`

	// 60 to 3600; 0 = the default of 300, which is Prometheus's. Absent = unchanged.
	PromQLLookbackSeconds *int32 `json:"promqlLookbackSeconds,omitempty"`
}

// ListProjectsRequest is a message of the API.
type ListProjectsRequest struct {
	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`
}

// ListProjectsResponse is a message of the API.
type ListProjectsResponse struct {
	Projects []Project `json:"projects,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// CreateProjectRequest is a message of the API.
type CreateProjectRequest struct {
	RequestID string `json:"requestId,omitempty"`

	// Lower-case letters, digits and dashes; at most 63.
	ProjectID string `json:"projectId,omitempty"`

	DisplayName string `json:"displayName,omitempty"`
}

// GetProjectRequest is a message of the API.
type GetProjectRequest struct {
	Name string `json:"name,omitempty"`
}

// Member is a message of the API.
type Member struct {
	// `projects/p/members/m`.
	Name string `json:"name,omitempty"`

	DisplayName string `json:"displayName,omitempty"`

	// Proven address; empty = none.
	Email string `json:"email,omitempty"`

	Role Role `json:"role,omitempty"`

	JoinedUnix int64 `json:"joinedUnix,string,omitempty"`

	// Address named by the invitation, whose ownership is not proven; empty = none.
	UnprovenEmail string `json:"unprovenEmail,omitempty"`
}

// ListMembersRequest is a message of the API.
type ListMembersRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`
}

// ListMembersResponse is a message of the API.
type ListMembersResponse struct {
	Members []Member `json:"members,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// Invitation is a message of the API.
type Invitation struct {
	// `projects/p/invitations/i`.
	Name string `json:"name,omitempty"`

	Email string `json:"email,omitempty"`

	Role Role `json:"role,omitempty"`

	State InvitationState `json:"state,omitempty"`

	InvitedBy string `json:"invitedBy,omitempty"`

	CreatedUnix int64 `json:"createdUnix,string,omitempty"`

	ExpiresUnix int64 `json:"expiresUnix,string,omitempty"`

	// The member who accepted it: `projects/p/members/m`; empty = no one yet.
	AcceptedBy string `json:"acceptedBy,omitempty"`

	// true when the person who accepted it is proven to own the address.
	EmailProven bool `json:"emailProven,omitempty"`

	// Current display names of the person who invited, and of the member who accepted.
	InvitedByDisplayName string `json:"invitedByDisplayName,omitempty"`

	AcceptedByDisplayName string `json:"acceptedByDisplayName,omitempty"`

	// Why the mail server has not accepted the mail with the link, in its words; empty = no mail, no
	// answer yet, or accepted. The link works all the same.
	MailProblem string `json:"mailProblem,omitempty"`
}

// InviteMemberRequest is a message of the API.
type InviteMemberRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	Email string `json:"email,omitempty"`

	Role Role `json:"role,omitempty"`
}

// InviteMemberResponse is a message of the API.
type InviteMemberResponse struct {
	Invitation *Invitation `json:"invitation,omitempty"`

	// Link for the invited person; only in the first response.
	Link string `json:"link,omitempty"`

	SecretAvailable bool `json:"secretAvailable,omitempty"`

	// true when an email with the link is being sent too.
	Emailed bool `json:"emailed,omitempty"`
}

// ListInvitationsRequest is a message of the API.
type ListInvitationsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`
}

// ListInvitationsResponse is a message of the API.
type ListInvitationsResponse struct {
	Invitations []Invitation `json:"invitations,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// RevokeInvitationRequest is a message of the API.
type RevokeInvitationRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// RemoveMemberRequest is a message of the API.
type RemoveMemberRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// RemoveMemberResponse is a message of the API.
type RemoveMemberResponse struct{}

// SetMemberRoleRequest is a message of the API.
type SetMemberRoleRequest struct {
	Name string `json:"name,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	Role Role `json:"role,omitempty"`
}

// EnrolVmRequest is a message of the API.
type EnrolVmRequest struct {
	// `projects/p/vms/v`: a VM that exists, or the id that a new one will have.
	VMName string `json:"vmName,omitempty"`

	RequestID string `json:"requestId,omitempty"`

	// Required for a new VM; otherwise the VM's own.
	Datacenter string `json:"datacenter,omitempty"`
}

// EnrolVmResponse is a message of the API.
type EnrolVmResponse struct {
	VMName string `json:"vmName,omitempty"`

	// Only in the first response.
	EnrolmentToken string `json:"enrolmentToken,omitempty"`

	SecretAvailable bool `json:"secretAvailable,omitempty"`

	ExpiresUnix int64 `json:"expiresUnix,string,omitempty"`

	// Command to run inside the guest; it holds no secret.
	InstallCommand string `json:"installCommand,omitempty"`
}

// UnenrolVmRequest is a message of the API.
type UnenrolVmRequest struct {
	VMName string `json:"vmName,omitempty"`

	RequestID string `json:"requestId,omitempty"`
}

// UnenrolVmResponse is a message of the API.
type UnenrolVmResponse struct{}

// Role: role of a member, in rising order.
type Role string

// Values of Role.
const (
	RoleUnspecified Role = "ROLE_UNSPECIFIED"

	RoleViewer Role = "VIEWER"

	RoleEditor Role = "EDITOR"

	RoleOwner Role = "OWNER"
)

// InvitationState is one of the InvitationState constants.
type InvitationState string

// Values of InvitationState.
const (
	InvitationStateUnspecified InvitationState = "STATE_UNSPECIFIED"

	InvitationStatePending InvitationState = "PENDING"

	InvitationStateAccepted InvitationState = "ACCEPTED"

	InvitationStateRevoked InvitationState = "REVOKED"

	InvitationStateExpired InvitationState = "EXPIRED"
)

func (r *SignOutEverywhereRequest) requestID() string { return r.RequestID }

func (r *EndSessionRequest) requestID() string { return r.RequestID }

func (r *CreateProjectRequest) requestID() string { return r.RequestID }

func (r *UpdateProjectRequest) requestID() string { return r.RequestID }

func (r *InviteMemberRequest) requestID() string { return r.RequestID }

func (r *RevokeInvitationRequest) requestID() string { return r.RequestID }

func (r *RemoveMemberRequest) requestID() string { return r.RequestID }

func (r *SetMemberRoleRequest) requestID() string { return r.RequestID }

func (r *EnrolVmRequest) requestID() string { return r.RequestID }

func (r *UnenrolVmRequest) requestID() string { return r.RequestID }
