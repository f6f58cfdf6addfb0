// Code generated from svc/audit/v1/audit.proto by "npm run generate". DO NOT EDIT.

package svc

import "context"

// ListMachines is a message of the API.
func (c *Client) ListMachines(ctx context.Context, request *ListMachinesRequest) (*ListMachinesResponse, error) {
	return unary[ListMachinesResponse](ctx, c, method{service: "svc.audit.v1.AuditService", name: "ListMachines"}, request)
}

// GetMachine: definition and drawings of one machine.
func (c *Client) GetMachine(ctx context.Context, request *GetMachineRequest) (*Machine, error) {
	return unary[Machine](ctx, c, method{service: "svc.audit.v1.AuditService", name: "GetMachine"}, request)
}

// ListTransitions: recorded transitions, newest first. Machines of identities are shown only to owners.
func (c *Client) ListTransitions(ctx context.Context, request *ListTransitionsRequest) (*ListTransitionsResponse, error) {
	return unary[ListTransitionsResponse](ctx, c, method{service: "svc.audit.v1.AuditService", name: "ListTransitions"}, request)
}

// ListMachinesRequest is a message of the API.
type ListMachinesRequest struct {
	ProjectName string `json:"projectName,omitempty"`
}

// ListMachinesResponse is a message of the API.
type ListMachinesResponse struct {
	Machines []MachineSummary `json:"machines,omitempty"`
}

// MachineSummary is a message of the API.
type MachineSummary struct {
	// E.g. `alertInstance`.
	Machine string `json:"machine,omitempty"`

	Version int32 `json:"version,omitempty"`

	Description string `json:"description,omitempty"`
}

// GetMachineRequest is a message of the API.
type GetMachineRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	Machine string `json:"machine,omitempty"`
}

// Machine is a message of the API.
type Machine struct {
	Machine string `json:"machine,omitempty"`

	Version int32 `json:"version,omitempty"`

	Description string `json:"description,omitempty"`

	// xstate's definition as JSON.
	DefinitionJson string `json:"definitionJson,omitempty"`

	Mermaid string `json:"mermaid,omitempty"`

	Svg string `json:"svg,omitempty"`

	Layout *MachineLayout `json:"layout,omitempty"`
}

// MachineLayout: a machine's drawing as data: boxes and lines, in px from the top left.
type MachineLayout struct {
	Width float64 `json:"width,omitempty"`

	Height float64 `json:"height,omitempty"`

	// Parents before their children.
	States []MachineLayoutState `json:"states,omitempty"`

	Starts []MachineLayoutStart `json:"starts,omitempty"`

	Arrows []MachineLayoutArrow `json:"arrows,omitempty"`
}

// MachineLayoutPoint is a message of the API.
type MachineLayoutPoint struct {
	X float64 `json:"x,omitempty"`

	Y float64 `json:"y,omitempty"`
}

// MachineLayoutBox is a message of the API.
type MachineLayoutBox struct {
	X float64 `json:"x,omitempty"`

	Y float64 `json:"y,omitempty"`

	Width float64 `json:"width,omitempty"`

	Height float64 `json:"height,omitempty"`
}

// MachineLayoutEvent: an event that a state accepts.
type MachineLayoutEvent struct {
	// As in `Transition.event`.
	Event string `json:"event,omitempty"`

	// Name of the guard that must hold; empty = none.
	Guard string `json:"guard,omitempty"`

	Description string `json:"description,omitempty"`

	// Text in the drawing: the event, or `after <delay>` for a timer, with the guard's words in
	// brackets.
	Label string `json:"label,omitempty"`
}

// MachineLayoutState is a message of the API.
type MachineLayoutState struct {
	// Full id, e.g. `alertInstance.firing.data`; unique within the machine.
	ID string `json:"id,omitempty"`

	// Last part of the id.
	Name string `json:"name,omitempty"`

	Kind MachineLayoutStateKind `json:"kind,omitempty"`

	Description string `json:"description,omitempty"`

	// Id of the parent state; empty = the machine itself.
	ParentID string `json:"parentId,omitempty"`

	// Including its children.
	Box *MachineLayoutBox `json:"box,omitempty"`

	// Events that change data only: lines below the name.
	Stays []MachineLayoutEvent `json:"stays,omitempty"`
}

// MachineLayoutStart: where a compound state begins: a dot, and an arrow from it.
type MachineLayoutStart struct {
	// Id of the compound state; empty = the machine itself.
	ParentID string `json:"parentId,omitempty"`

	// Id of the state that is entered first.
	ToState string `json:"toState,omitempty"`

	// Center of the dot.
	Point *MachineLayoutPoint `json:"point,omitempty"`

	// Points of the arrow, from tail to head.
	Points []MachineLayoutPoint `json:"points,omitempty"`
}

// MachineLayoutArrow: all transitions from one state to another. They share one line.
type MachineLayoutArrow struct {
	FromState string `json:"fromState,omitempty"`

	ToState string `json:"toState,omitempty"`

	// Points from tail to head: two for a straight arrow, otherwise with the corners between them.
	Points []MachineLayoutPoint `json:"points,omitempty"`

	Events []MachineLayoutEvent `json:"events,omitempty"`

	// Space for the events, one line each.
	Label *MachineLayoutBox `json:"label,omitempty"`
}

// ListTransitionsRequest is a message of the API.
type ListTransitionsRequest struct {
	ProjectName string `json:"projectName,omitempty"`

	// Resource name of an instance, e.g. `projects/p/alertRules/uuid`; empty = all.
	InstanceName string `json:"instanceName,omitempty"`

	// Only this machine; empty = all that the caller may see.
	Machine string `json:"machine,omitempty"`

	PageSize int32 `json:"pageSize,omitempty"`

	PageToken string `json:"pageToken,omitempty"`

	// Committed in this range, Unix ms, both ends included; 0 = open.
	StartTimeUnixMs int64 `json:"startTimeUnixMs,string,omitempty"`

	EndTimeUnixMs int64 `json:"endTimeUnixMs,string,omitempty"`

	// Only transitions caused by this actor, as in `Transition.by`; empty = all. People may also name a
	// member, `projects/p/members/m`: steps of that person, without those of their keys.
	By string `json:"by,omitempty"`

	// Only these events, as in `Transition.event`, at most 20; empty = all.
	Events []string `json:"events,omitempty"`

	// Only transitions decided by the client's request with this id; empty = all.
	RequestID string `json:"requestId,omitempty"`

	// true: oldest first. A page token is valid for one order only.
	OldestFirst bool `json:"oldestFirst,omitempty"`

	// true: only actions of a person, a key or an operator: transitions with a `sentence`.
	ActsOnly bool `json:"actsOnly,omitempty"`
}

// ListTransitionsResponse is a message of the API.
type ListTransitionsResponse struct {
	Transitions []Transition `json:"transitions,omitempty"`

	NextPageToken string `json:"nextPageToken,omitempty"`
}

// Transition is a message of the API.
type Transition struct {
	// Position in the log.
	Sequence int64 `json:"sequence,string,omitempty"`

	AtUnixMs int64 `json:"atUnixMs,string,omitempty"`

	// Resource name of the actor that caused it, or name of the part of the service that did.
	// Credentials see only the kind of a person or operator.
	By string `json:"by,omitempty"`

	Machine string `json:"machine,omitempty"`

	Instance string `json:"instance,omitempty"`

	Event string `json:"event,omitempty"`

	// The event's public fields, as JSON.
	EventJson string `json:"eventJson,omitempty"`

	// State before, as JSON; empty = the step created the instance.
	FromJson string `json:"fromJson,omitempty"`

	ToJson string `json:"toJson,omitempty"`

	// Id of the client's request that decided it; empty = none.
	RequestID string `json:"requestId,omitempty"`

	// Display name of the person who caused it.
	ByDisplayName string `json:"byDisplayName,omitempty"`

	// Address in the invitation of a person who has not proven any address; empty otherwise.
	ByUnprovenEmail string `json:"byUnprovenEmail,omitempty"`

	// Resource name of the instance; empty when it has none.
	InstanceName string `json:"instanceName,omitempty"`

	// The event's public fields, as in `event_json`. Times are Unix ms.
	Fields map[string]any `json:"fields,omitempty"`

	// Ids of the innermost states before and after, as in `MachineLayout`; `from_states` is empty for
	// the step that created the instance.
	FromStates []string `json:"fromStates,omitempty"`

	ToStates []string `json:"toStates,omitempty"`

	// Time of the observation that decided it; absent if no observation decided it.
	ObservedUnixMs *int64 `json:"observedUnixMs,string,omitempty"`

	// What the actor did, in words that follow its name, e.g. `changed the role of Bob: VIEWER →
	// EDITOR`, with current names; empty = no person, key or operator caused the step.
	Sentence string `json:"sentence,omitempty"`

	// Current display name of the instance, e.g. `CPU is high on db-01`; empty = it has none.
	InstanceDisplayName string `json:"instanceDisplayName,omitempty"`
}

// MachineLayoutStateKind is one of the MachineLayoutStateKind constants.
type MachineLayoutStateKind string

// Values of MachineLayoutStateKind.
const (
	MachineLayoutStateKindUnspecified MachineLayoutStateKind = "KIND_UNSPECIFIED"

	MachineLayoutStateKindAtomic MachineLayoutStateKind = "ATOMIC"

	// Exactly one of its children is active.
	MachineLayoutStateKindCompound MachineLayoutStateKind = "COMPOUND"

	// All of its children are active at once.
	MachineLayoutStateKindParallel MachineLayoutStateKind = "PARALLEL"

	MachineLayoutStateKindFinal MachineLayoutStateKind = "FINAL"
)

func (r *ListTransitionsRequest) requestID() string { return r.RequestID }
