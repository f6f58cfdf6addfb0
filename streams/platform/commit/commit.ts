/**
 * A commit: one step of a project's history, with its outcome. `transition()` runs once, at the
 * writer; applying a commit is plain upserts, the same on every node and in every version.
 *
 * A commit names its predecessor's hash and has a project-local number. Appliers skip, on every
 * node alike, a commit whose predecessor is not the project's head; a writer has succeeded when
 * its own commit id has been applied. The hash covers digests of the decision bodies, so a body
 * can be dropped after its retention and the chain still verifies.
 */
import type { StateValueJson } from '../../../machines/platform/definition.ts';

/** Who caused a decision. `name` is a resource name, or the part of this service for `service`. */
export interface Actor {
  readonly kind: 'service' | 'key' | 'human' | 'ci' | 'collector' | 'operator';
  readonly name: string;
}

/** One machine instance's step: event in, outcome out. */
export interface InstanceStep {
  readonly machine: string;
  readonly version: number;
  readonly instance: string;
  readonly event: { readonly type: string; readonly at: number } & Readonly<
    Record<string, unknown>
  >;
  /** null: the step created the instance. */
  readonly from: StateValueJson | null;
  readonly to: StateValueJson;
  readonly context: Readonly<Record<string, unknown>>;
  /** All timers the instance has after this step; due = commit.at + delay, Unix ms. */
  readonly timers: readonly TimerRow[];
  /** true: the machine is in a final state; the row stays for audit, nothing moves it again. */
  readonly final: boolean;
}

export interface TimerRow {
  /** xstate's id of the delayed raise, unique within the instance. */
  readonly id: string;
  readonly dueMs: number;
  /** Passed to `transition()` when it falls due. */
  readonly event: { readonly type: string } & Readonly<Record<string, unknown>>;
}

/** A document beside the machines: a VM, an incident, a project. `null` body removes it. */
export interface RecordChange {
  readonly kind: string;
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>> | null;
  /** Lists are ordered by it, then by id; e.g. a zero-padded time. Default ''. */
  readonly sort?: string;
}

/** What one request, edge or timer decided. */
export interface Decision {
  readonly by: Actor;
  /** Client's request id with the digest of its body: makes an exact resend answer the same. */
  readonly request?: {
    /** Scope: project and identity, e.g. the key's resource name. */
    readonly scope: string;
    readonly id: string;
    readonly fingerprint: string;
    /** The answer to repeat, without secrets. */
    readonly answer: Readonly<Record<string, unknown>>;
  };
  readonly steps: readonly InstanceStep[];
  readonly records: readonly RecordChange[];
  /** Rows of ended instances that go: their time is over. Absent = none. */
  readonly forgotten?: readonly InstanceRef[];
  /** What audit keeps no longer. Absent = nothing. */
  readonly truncation?: ChainStart;
}

/** Names a machine's instance within its project. */
export interface InstanceRef {
  readonly machine: string;
  readonly instance: string;
}

/**
 * The last commit of a project's chain that goes, with those before it and their transitions: what
 * remains begins after it, and verifies from its hash. Stands in a later commit of the same chain,
 * which therefore vouches for it.
 */
export interface ChainStart {
  readonly number: number;
  readonly hash: string;
  /** Its `at`, Unix ms. */
  readonly at: number;
  /** Its position in EVENTS. */
  readonly sequence: number;
}

export interface Commit {
  readonly format: number;
  /** ULID, made by the writer; also the stream's message id. Retries keep it. */
  readonly id: string;
  /** Project id, or `_system`. */
  readonly project: string;
  /** 1 for a project's first commit. */
  readonly number: number;
  /** Hash of the previous commit, hex SHA-256; '' for the first. */
  readonly predecessor: string;
  /** max(writer's now, predecessor's at), Unix ms. */
  readonly at: number;
  /** Node that decided. */
  readonly writer: string;
  readonly decisions: readonly Decision[];
}

/** The format this program writes; it reads this one and every older. */
export const COMMIT_FORMAT = 1;
/** A commit's bounds; a larger change is made in several, each idempotent. */
export const COMMIT_EVENTS_MAX = 500;
export const COMMIT_BYTES_MAX = 256 * 1024;

/** The pseudo-project of people, data centers, collectors, issuers. */
export const SYSTEM_PROJECT = '_system';
