/**
 * Endless changes: one key edits rules until it is rejected, then every method that changes
 * something is called again and again. Judged by outcomes: how many decisions the service commits,
 * how much its data folder grows, and whether another project and the owner's revocation still
 * work.
 */
import { randomUUID } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Policy_Access } from '../../src/gen/svc/options/v1/policy_pb.ts';
import { type Arena, displayed, getRequest, inParallel, rpcRequest } from './arena.ts';
import { problemOf, reasonOf, sentText } from './judge.ts';
import { pause } from './neighbour.ts';
import { type AttackedMethod, methods, requestOf } from './requests.ts';
import type { Tenant } from './tenants.ts';
import type { Header, WireAnswer } from './wire.ts';

const ALERT = '/svc.monitoring.v1.AlertService/';
const IAM = '/svc.iam.v1.AutomationService/';
const MIB = 2 ** 20;
/** Sustained changes per second of the flooded project; a burst may be two minutes' worth. */
const PER_SECOND = 1;
const BURST = 120 * PER_SECOND;
/** Number of accepted changes after which no limit is assumed. */
const GIVE_UP = 1_000;
/** Concurrent requests, as in the flood that filled a disk. */
const WIDTH = 8;
/** Time for which the key continues after its burst, and for which each method is called, ms. */
const FLOOD_MS = 5_000;
const CALLS_OF_A_KIND = 60;
/**
 * Decisions by the service itself, and by those who end access, besides the calls of one method.
 */
const SLACK = 20;
/** Maximum growth of the data folder over everything; the burst takes about 5 MiB. */
const GROWTH_BYTES_MAX = 32 * MIB;
const RUNBOOK = 'x'.repeat(1_900);

export async function attackByChanges(arena: Arena): Promise<void> {
  const { target, attacker, tally } = arena;
  await target.admin('limits', 'set', attacker.id, '--changes-per-second', String(PER_SECOND));
  const beforeBytes = bytesOfFolder(target.folder);
  const before = await committed(arena);
  const flood = await floodWithEdits(arena);
  const grown = bytesOfFolder(target.folder) - beforeBytes;
  tally.figure(
    `endless edits: ${flood.accepted} accepted, ${flood.refused} refused in ${(flood.ms / 1000).toFixed(1)} s, ${(grown / MIB).toFixed(1)} MiB on disk`,
  );
  const { used } = await target.admin('limits', 'show', attacker.id);
  tally.figure(`the project has used ${JSON.stringify(used)}`);
  const decisions = (await committed(arena)) - before;
  const allowed = BURST + allowedIn(flood.ms);
  tally.record({
    name: 'endless edits',
    why:
      problemOfCount(decisions, allowed) ??
      (flood.refused === 0 ? 'nothing was rejected' : undefined),
  });
  await tryOthers(arena);
  const kinds = new Map<string, string[]>();
  for (const method of inOrder(methods.filter(isFlooded))) {
    const outcome = await tryKind(arena, method);
    kinds.set(outcome, [...(kinds.get(outcome) ?? []), method.name]);
  }
  for (const [outcome, names] of kinds) tally.figure(`mostly ${outcome}: ${names.join(', ')}`);
  const bytes = bytesOfFolder(target.folder) - beforeBytes;
  tally.figure(`after every kind of change: ${(bytes / MIB).toFixed(1)} MiB on disk`);
  const why = bytes <= GROWTH_BYTES_MAX ? undefined : `the data folder grew by ${bytes} bytes`;
  tally.record({ name: 'growth of the data folder is bounded', why });
}

/** Collectors and unauthenticated callers have limits of their own. */
function isFlooded({ policy, isStream }: AttackedMethod): boolean {
  const { access, mutation } = policy;
  const isOther = access === Policy_Access.COLLECTOR || access === Policy_Access.NONE;
  return mutation && !isStream && !isOther;
}

/** Methods that end things run after those that need them. */
function inOrder(all: readonly AttackedMethod[]): AttackedMethod[] {
  const rank = ({ name }: AttackedMethod) =>
    ['Delete', 'Disable', 'Remove', 'Revoke', 'EndSession', 'SignOut'].findIndex((word) =>
      name.startsWith(word),
    );
  return [...all].sort((a, b) => rank(a) - rank(b));
}

/** The service follows each change with one of its own: a saved rule is applied. */
const DECISIONS_OF_A_CHANGE = 2;

/** Number of changes that the rate allows within that time. */
function allowedIn(ms: number): number {
  return Math.ceil((ms / 1000) * PER_SECOND);
}

function problemOfCount(decisions: number, changes: number): string | undefined {
  if (decisions <= changes * DECISIONS_OF_A_CHANGE + SLACK) return undefined;
  return `${decisions} decisions were committed, but only ${changes} changes are allowed`;
}

/** Eight concurrent calls, each with a rule of its own, until the time after the burst is over. */
async function floodWithEdits(arena: Arena) {
  const { attacker } = arena;
  const startMs = performance.now();
  let [accepted, refused, endMs] = [0, 0, Number.POSITIVE_INFINITY];
  const worker = async () => {
    const id = randomUUID();
    for (let version = 0; performance.now() < endMs && accepted < GIVE_UP; ) {
      const answer = await save(arena, attacker, id, version);
      if (answer.status === 200) {
        accepted++;
        version++;
        continue;
      }
      refused++;
      recordRefusal(arena, 'endless edits', answer);
      if (endMs === Number.POSITIVE_INFINITY) endMs = performance.now() + FLOOD_MS;
      await pause(10);
    }
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));
  return { accepted, refused, ms: performance.now() - startMs };
}

function save(arena: Arena, tenant: Tenant, id: string, version: number): Promise<WireAnswer> {
  const body = {
    projectName: tenant.project,
    id,
    requestId: randomUUID(),
    expectedVersion: String(version),
    spec: {
      displayName: 'CPU',
      metricId: 'cpu_utilization_pct',
      operator: 'GREATER_THAN',
      threshold: 99,
      severity: 'WARNING',
      allVms: true,
      runbookText: `${version} ${RUNBOOK}`,
    },
  };
  const request = rpcRequest(arena, `${ALERT}SaveAlertRule`, body, tenant.credentials.writeKey);
  return arena.target.wire.send(request);
}

/** Checks that a rejection for too many changes has the documented form. */
function recordRefusal({ tally }: Arena, name: string, answer: WireAnswer): void {
  const isLimited = answer.status === 429;
  const isDocumented =
    isLimited &&
    reasonOf(answer) === 'TOO_MANY_REQUESTS' &&
    /"limit":"changesPerSecond"/.test(answer.text) &&
    Number(answer.headers.get('retry-after')) > 0;
  const why = isDocumented ? undefined : 'it is not rejected as documented';
  tally.record({ name, why, isLimited, answer: displayed(answer) });
}

/** During the flood, another project changes a rule, and the owner revokes a key of this one. */
async function tryOthers(arena: Arena): Promise<void> {
  const { attacker, victim, tally, target } = arena;
  const other = await save(arena, victim, randomUUID(), 0);
  tally.record({
    name: 'another project changes something',
    why: other.status === 200 ? undefined : 'it is rejected because of its neighbour',
    answer: displayed(other),
  });
  const revoke = { name: attacker.names.Key, reason: 'leaked', requestId: randomUUID() };
  const { owner, readKey } = attacker.credentials;
  const revoked = await target.wire.send(rpcRequest(arena, `${IAM}RevokeKey`, revoke, owner));
  const path = `/v1/monitoring/projects/${attacker.id}/promql/api/v1/query?query=1`;
  const after = await target.wire.send(getRequest(arena, path, readKey));
  tally.record({
    name: 'the owner of the flooded project revokes a key',
    why: revoked.status === 200 && after.status === 401 ? undefined : 'the key is not revoked',
    answer: `${displayed(revoked)} then ${after.status}`,
  });
}

/**
 * Calls one method again and again, each time as a new request, and counts the commits. Resolves
 * with the outcome of most calls.
 */
export async function tryKind(arena: Arena, method: AttackedMethod): Promise<string> {
  const { attacker, target, tally } = arena;
  const { owner, writeKey } = attacker.credentials;
  const credential: readonly Header[] =
    method.policy.access === Policy_Access.HUMAN ? owner : writeKey;
  const startMs = performance.now();
  const before = await committed(arena);
  const reasons = new Map<string, number>();
  let problem: string | undefined;
  await inParallel(Array.from({ length: CALLS_OF_A_KIND }), WIDTH, async () => {
    const request = rpcRequest(arena, method.path, requestOf(method, attacker), credential);
    const answer = await target.wire.send(request);
    const outcome = answer.status === 200 ? 'answered' : (reasonOf(answer) ?? displayed(answer));
    reasons.set(outcome, (reasons.get(outcome) ?? 0) + 1);
    // Data that the project's own owner may read is not a leak.
    problem ??= problemOf(answer, sentText(request), arena.forbidden);
  });
  const decisions = (await committed(arena)) - before;
  const why = problem ?? problemOfCount(decisions, allowedIn(performance.now() - startMs));
  const summary = [...reasons].map(([reason, count]) => `${count} ${reason}`).join(', ');
  tally.record({ name: `endless ${method.name}`, why, answer: `${decisions}: ${summary}` });
  const [most] = [...reasons].sort(([, a], [, b]) => b - a);
  return most?.[0] ?? 'nothing';
}

/** Decisions that the service has committed since its start, by its own metrics. */
async function committed({ target, victim }: Arena): Promise<number> {
  const request = getRequest({ target }, '/metrics', victim.credentials.readKey);
  const { text } = await target.wire.send(request);
  const count = /^svc_host_events\{kind="decisions"\} (\d+)$/m.exec(text)?.[1];
  if (count === undefined) throw new Error(`/metrics shows no decisions: ${text.slice(0, 200)}`);
  return Number(count);
}

/** Total size of all existing files below the folder. */
function bytesOfFolder(folder: string): number {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names.reduce(
    (sum, name) => sum + (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
}
