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

/** Cause of a decision. `name` is a resource name or, for `service`, the part of this service. */
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
  /** true: the machine is in a final state; the row stays for audit and never changes again. */
  readonly final: boolean;
}

export interface TimerRow {
  /** xstate's id of the delayed raise, unique within the instance. */
  readonly id: string;
  readonly dueMs: number;
  /** Passed to `transition()` when the timer falls due. */
  readonly event: { readonly type: string } & Readonly<Record<string, unknown>>;
}

/** A document beside the machines: a VM, an incident, a project. A `null` body removes it. */
export interface RecordChange {
  readonly kind: string;
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>> | null;
  /** Sort key of lists, before the id; e.g. a zero-padded time. Default ''. */
  readonly sort?: string;
}

/** Decision of one request, edge or timer. */
export interface Decision {
  readonly by: Actor;
  /**
   * The client's request id with the digest of its body, so that an exact resend gets the same
   * response.
   */
  readonly request?: {
    /** Scope: project and identity, e.g. the key's resource name. */
    readonly scope: string;
    readonly id: string;
    readonly fingerprint: string;
    /** The response to repeat, without secrets. */
    readonly answer: Readonly<Record<string, unknown>>;
  };
  readonly steps: readonly InstanceStep[];
  readonly records: readonly RecordChange[];
  /** Rows of ended instances that are removed after their retention. Absent = none. */
  readonly forgotten?: readonly InstanceRef[];
  /** Start of the chain after the audit log was truncated. Absent = it was not. */
  readonly truncation?: ChainStart;
}

/** Names a machine's instance within its project. */
export interface InstanceRef {
  readonly machine: string;
  readonly instance: string;
}

/**
 * The last removed commit of a project's chain; those before it and their transitions are removed
 * too. The rest begins after it, and verifies from its hash. Recorded in a later commit of the same
 * chain, which therefore vouches for it.
 */
export interface ChainStart {
  readonly number: number;
  readonly hash: string;
  /** Time of the commit (`at`), Unix ms. */
  readonly at: number;
  /** Its position in EVENTS. */
  readonly sequence: number;
}

export interface Commit {
  readonly format: number;
  /** ULID, made by the writer; also the stream's message id. The same on every retry. */
  readonly id: string;
  /** Project id, or `_system`. */
  readonly project: string;
  /** 1 for a project's first commit. */
  readonly number: number;
  /** Hash of the previous commit, hex SHA-256; '' for the first. */
  readonly predecessor: string;
  /** max(writer's now, predecessor's at), Unix ms. */
  readonly at: number;
  /** Node that made the decision. */
  readonly writer: string;
  readonly decisions: readonly Decision[];
}

/** The format this program writes; it reads this and all older ones. */
export const COMMIT_FORMAT = 1;
/** Bounds of a commit; a larger change is made in several, each idempotent. */
export const COMMIT_EVENTS_MAX = 500;
export const COMMIT_BYTES_MAX = 256 * 1024;

/** Pseudo-project of people, data centers, collectors and issuers. */
export const SYSTEM_PROJECT = '_system';
