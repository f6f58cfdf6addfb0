/**
 * The demo of a first start: the project `demo`, a service account with a key that may read and
 * write, a collector's key, a sign-in link for the first owner, and `demo.json` with all of them,
 * readable only by this machine's user. It runs at every start and does not touch what works. A
 * crash between the commit and the file leaves keys without a holder; the next start revokes them
 * in the commit that makes new ones. Among several members, the first to create the demo owns it.
 * Keys near their end are replaced but not revoked: copies work until their own end.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  KEY_LIFETIME_MS_MAX,
  type NewCredential,
  startCredential,
} from '../../actors/identity/credentials.ts';
import {
  firstOwnerLink,
  hasAnybodySignedIn,
  isLinkOpen,
} from '../../actors/identity/first-owner.ts';
import { grantsOf, ownerName, parseOwner } from '../../actors/identity/grants.ts';
import type { Members } from '../../actors/identity/members.ts';
import type { People } from '../../actors/identity/people.ts';
import type { Draft, Host } from '../../actors/platform/host/host-port.ts';
import type { Clock } from '../../streams/platform/clock.ts';
import type { Actor } from '../../streams/platform/commit/commit.ts';
import { pause } from '../../streams/platform/pause.ts';
import { type Random, ulid } from '../../streams/platform/random.ts';
import { StreamUnavailable } from '../../streams/platform/stream.ts';
import { writeFileDurably } from '../platform/durable-file.ts';
import { hashKey, type MintedKey, mintKey, parseKey, parseSecret } from '../platform/keys.ts';
import type { Log } from '../platform/log.ts';
import { linkAddress } from '../platform/mail/letters.ts';

/** Project id of the demo. */
export const DEMO_PROJECT = 'demo';

/** Content of demo.json. */
export interface DemoFile {
  readonly baseUrl: string;
  /** `projects/demo`. */
  readonly projectName: string;
  /** Key that reads and writes the project. */
  readonly apiKey: string;
  /** Key that writes samples. */
  readonly collectorKey: string;
  /** Signs the first owner in, once; absent if anyone has signed in. */
  readonly signInUrl?: string;
}

export interface DemoOptions extends FirstSignInDeps {
  readonly dataFolder: string;
  readonly baseUrl: string;
  /** Origin at which browsers have their session. */
  readonly pageOrigin: string;
  readonly log: Log;
  /** Other processes may have made the demo, with a demo.json in their own folders. */
  readonly isShared: boolean;
  /** Aborts on a stop request. */
  readonly stopped?: AbortSignal;
}

/** Creator of all of it, and owner of the collector's key. */
const MAKER = 'service/demo';
const BY = { kind: 'service', name: MAKER } as const;
/** Id of the service account; gets a number as long as a deleted account has that id. */
const ACCOUNT = 'demo';
const CAPABILITIES = ['monitoring.read', 'monitoring.write'];
/** Keys with less time left are replaced at a start, so that a long trial does not fail in use. */
const RENEW_BEFORE_MS = 30 * 86_400_000;
/**
 * Longest wait for a member that has just joined and may not yet decide, ms: on a busy machine that
 * takes a moment.
 */
const READY_WITHIN_MS = 30_000;
const AGAIN_MS = 250;
/** Newest live keys searched for orphans; there are two, or four after a crash. */
const KEYS_MAX = 1_000;

const about = { project: DEMO_PROJECT, lifetimeMs: KEY_LIFETIME_MS_MAX, createdBy: MAKER } as const;

function apiKeyOf(account: string): NewCredential {
  const whose = { kind: 'sk', owner: accountName(account), displayName: 'Demo key' } as const;
  return { ...about, ...whose, capabilities: CAPABILITIES };
}

const collectorKey: NewCredential = {
  ...about,
  kind: 'col',
  owner: MAKER,
  displayName: 'Demo collector',
  capabilities: ['collector'],
};

/** demo.json as this start leaves it. */
export interface PreparedDemo {
  readonly path: string;
  /** Sign-in link for the first owner; undefined if absent. */
  readonly signInUrl: string | undefined;
}

/**
 * Resolves once demo.json exists and works; undefined: another member owns the demo. Throws what
 * `submit` throws.
 */
export async function prepareDemo(requested: DemoOptions): Promise<PreparedDemo | undefined> {
  const options = { ...requested, host: whenItMayDecide(requested) };
  const { dataFolder, baseUrl, pageOrigin, log } = options;
  const path = join(dataFolder, 'demo.json');
  const found = readDemoFile(path, log);
  const keys = await workingKeys(options, found);
  if (keys === undefined) return undefined;
  if (keys !== found) log.info({ path }, 'Keys of the project demo were created');
  const link = { by: BY, project: DEMO_PROJECT, displayed: found?.signInUrl, pageOrigin };
  const signInUrl = await firstSignInUrl(options, link);
  const { apiKey, collectorKey } = keys;
  const content: DemoFile = {
    baseUrl,
    projectName: `projects/${DEMO_PROJECT}`,
    apiKey,
    collectorKey,
    ...(signInUrl !== undefined && { signInUrl }),
  };
  if (JSON.stringify(content) !== JSON.stringify(found)) write(path, content);
  return { path, signInUrl };
}

/** The host, whose `submit` is retried as long as it certainly had no effect. */
function whenItMayDecide({ host, clock, stopped }: DemoOptions): Host {
  return {
    ...host,
    async submit(submission) {
      const endMs = clock.elapsed() + READY_WITHIN_MS;
      for (;;) {
        try {
          return await host.submit(submission);
        } catch (error) {
          const isRefused = error instanceof StreamUnavailable && error.outcome === 'refused';
          if (!isRefused || clock.elapsed() >= endMs || stopped?.aborted) throw error;
          await pause(clock, AGAIN_MS, stopped);
        }
      }
    },
  };
}

type Keys = Pick<DemoFile, 'apiKey' | 'collectorKey'>;

/**
 * The keys found, or new ones if one of them no longer works; undefined: another member has some.
 */
async function workingKeys(
  options: DemoOptions,
  found: DemoFile | undefined,
): Promise<Keys | undefined> {
  const { host, clock, random } = options;
  if (
    found &&
    isInForce(options, found.apiKey, 'sk') &&
    isInForce(options, found.collectorKey, 'col')
  ) {
    return found;
  }
  const ports = { nowMs: clock.now(), random };
  const keys = { apiKey: mintKey('sk', ports), collectorKey: mintKey('col', ports) };
  const kept = found ? [found.apiKey, found.collectorKey].map((key) => parseKey(key)?.id) : [];
  const isFirst = options.isShared && found === undefined;
  const { answer: isMade } = await host.submit({
    project: DEMO_PROJECT,
    by: BY,
    decide(draft) {
      if (isFirst && draft.record('project', DEMO_PROJECT)) return false;
      decide(draft, keys, new Set(kept));
      return true;
    },
  });
  if (!isMade) return undefined;
  return { apiKey: keys.apiKey.text, collectorKey: keys.collectorKey.text };
}

/** Project, account, the end of orphans and new keys in one decision, which can be repeated. */
function decide(
  draft: Draft,
  keys: { readonly apiKey: MintedKey; readonly collectorKey: MintedKey },
  kept: ReadonlySet<string | undefined>,
): void {
  if (!draft.record('project', DEMO_PROJECT)) {
    const body = { displayName: 'Demo', createdMs: draft.at };
    draft.putRecord({ kind: 'project', id: DEMO_PROJECT, body });
  }
  const account = ensureAccount(draft);
  for (const owner of [MAKER, accountName(account)]) {
    const live = { owner, final: false, descending: true, limit: KEYS_MAX };
    for (const { instance, context } of draft.instances('credential', live).items) {
      // Keys that people made for the account are theirs; keys without an owner are revoked in any
      // case.
      const isOurs = context.createdBy === MAKER || context.owner === MAKER;
      const isForNobody = context.kind === 'sk' && context.owner === MAKER;
      if (!isOurs || (kept.has(instance) && !isForNobody)) continue;
      const revoked = { type: 'revoked', at: draft.at, reason: 'REPLACED', by: MAKER } as const;
      draft.send('credential', instance, revoked);
    }
  }
  startCredential(draft, keys.apiKey, apiKeyOf(account));
  startCredential(draft, keys.collectorKey, collectorKey);
}

/** Id of the demo's service account, which is created if it is missing or was deleted. */
function ensureAccount(draft: Draft): string {
  for (let number = 1; ; number++) {
    const id = number === 1 ? ACCOUNT : `${ACCOUNT}-${number}`;
    const found = draft.instance('serviceAccount', id);
    if (found?.final) continue;
    if (!found) {
      const input = { project: DEMO_PROJECT, displayName: 'Demo', template: 'alert-manager' };
      const made = { ...input, capabilities: CAPABILITIES, createdBy: MAKER, at: draft.at };
      draft.start('serviceAccount', id, made);
    }
    return id;
  }
}

function accountName(account: string): string {
  return ownerName({ project: DEMO_PROJECT, machine: 'serviceAccount', id: account });
}

/** True if the key works for a while and, if it is an API key, acts for an existing account. */
function isInForce({ host, clock }: DemoOptions, key: string, kind: 'sk' | 'col'): boolean {
  const parsed = parseKey(key);
  const instance = parsed && host.findInstance('credential', parsed.id);
  if (instance?.value !== 'active' || instance.context.kind !== kind) return false;
  const { hash, expiresMs, owner } = instance.context;
  const account = parseOwner(String(owner));
  if (kind === 'sk') {
    const state = account && grantsOf(host.view(DEMO_PROJECT), account).state;
    if (state === undefined || state === 'gone') return false;
  }
  return hash === hashKey(key) && clock.now() < Number(expiresMs) - RENEW_BEFORE_MS;
}

function readDemoFile(path: string, log: Log): DemoFile | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (isDemoFile(parsed)) return parsed;
  } catch (error) {
    log.warn({ err: error, path }, 'demo.json cannot be read and is written again');
    return undefined;
  }
  log.warn({ path }, 'demo.json lacks its fields and is written again');
  return undefined;
}

function isDemoFile(value: unknown): value is DemoFile {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  const { signInUrl = '' } = fields;
  return ['baseUrl', 'projectName', 'apiKey', 'collectorKey'].every(
    (name) => typeof fields[name] === 'string' && typeof signInUrl === 'string',
  );
}

/** One field per line: shell tools read it too (see the banner). */
function write(path: string, content: DemoFile): void {
  writeFileDurably({ path, content: `${JSON.stringify(content, null, 2)}\n`, exclusive: false });
}

export interface FirstSignInDeps {
  readonly host: Host;
  readonly people: People;
  readonly members: Members;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Sign-in address for an owner of the project: the last one while its link works, a new one while
 * no one has ever signed in, else undefined. Throws what `Host.submit` throws.
 */
async function firstSignInUrl(
  deps: FirstSignInDeps,
  requested: {
    readonly by: Actor;
    readonly project: string;
    readonly displayed: string | undefined;
    readonly pageOrigin: string;
  },
): Promise<string | undefined> {
  const { host, clock, random } = deps;
  const { by, project, displayed = '', pageOrigin } = requested;
  const token = displayed.slice(displayed.indexOf('#') + 1);
  const id = parseSecret('link', token);
  const link = id === undefined ? undefined : { id, hash: hashKey(token), nowMs: clock.now() };
  if (link && isLinkOpen(host, link)) return linkAddress(pageOrigin, token);
  if (hasAnybodySignedIn(host)) return undefined;
  const newId = () => ulid(clock.now(), random);
  return linkAddress(pageOrigin, (await firstOwnerLink({ ...deps, newId }, by, project)).token);
}
