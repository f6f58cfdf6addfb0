/**
 * First start: the project `demo`, a key that may read and write, a collector's key, and
 * `demo.json` with all of them, for this machine's user alone. Run at every start: what is there
 * and works is left alone. A crash between the commit and the file leaves keys that nobody has;
 * the next start revokes them in the same commit that makes new ones. Keys near their end are
 * replaced too, and then not revoked: copies of them work until their own end.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Draft, Host } from '../actors/host-port.ts';
import {
  KEY_LIFETIME_MS_MAX,
  type NewCredential,
  startCredential,
} from '../actors/identity/credentials.ts';
import type { Clock } from '../streams/clock.ts';
import type { Random } from '../streams/random.ts';
import { hashKey, type MintedKey, mintKey, parseKey } from './auth/keys.ts';
import { writeFileDurably } from './durable-file.ts';
import type { Log } from './log.ts';

/** Project id of the demo. */
export const DEMO_PROJECT = 'demo';

/** Content of demo.json. */
export interface DemoFile {
  readonly baseUrl: string;
  /** `projects/demo`. */
  readonly projectName: string;
  /** Reads and writes the project. */
  readonly apiKey: string;
  /** Writes samples. */
  readonly collectorKey: string;
}

export interface DemoOptions {
  readonly host: Pick<Host, 'submit' | 'findInstance'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly dataFolder: string;
  readonly baseUrl: string;
  readonly log: Log;
}

const OWNER = 'service/demo';
const BY = { kind: 'service', name: OWNER } as const;
/** Keys with less left are replaced at a start, so that a trial that runs on does not die in use. */
const RENEW_BEFORE_MS = 30 * 86_400_000;
/** Live keys of the demo looked through for orphans; there are two, or four after a crash. */
const KEYS_MAX = 1_000;

const credentials: { readonly [K in 'apiKey' | 'collectorKey']: NewCredential } = {
  apiKey: {
    project: DEMO_PROJECT,
    kind: 'sk',
    capabilities: ['monitoring.read', 'monitoring.write'],
    owner: OWNER,
    displayName: 'Demo key',
    lifetimeMs: KEY_LIFETIME_MS_MAX,
  },
  collectorKey: {
    project: DEMO_PROJECT,
    kind: 'col',
    capabilities: ['collector'],
    owner: OWNER,
    displayName: 'Demo collector',
    lifetimeMs: KEY_LIFETIME_MS_MAX,
  },
};

/** Path of demo.json, which is there and works when this resolves. Throws what `submit` throws. */
export async function prepareDemo(options: DemoOptions): Promise<string> {
  const { host, clock, random, dataFolder, baseUrl, log } = options;
  const path = join(dataFolder, 'demo.json');
  const found = readDemoFile(path, log);
  if (found && isInForce(options, found.apiKey) && isInForce(options, found.collectorKey)) {
    if (found.baseUrl !== baseUrl) write(path, { ...found, baseUrl });
    return path;
  }
  const ports = { nowMs: clock.now(), random };
  const keys = { apiKey: mintKey('sk', ports), collectorKey: mintKey('col', ports) };
  const kept = found ? [found.apiKey, found.collectorKey].map((key) => parseKey(key)?.id) : [];
  await host.submit({
    project: DEMO_PROJECT,
    by: BY,
    decide: (draft) => decide(draft, keys, new Set(kept)),
  });
  write(path, {
    baseUrl,
    projectName: `projects/${DEMO_PROJECT}`,
    apiKey: keys.apiKey.text,
    collectorKey: keys.collectorKey.text,
  });
  log.info({ path }, 'Keys of the project demo were made');
  return path;
}

/** Project, the end of orphans, new keys: one decision, and the same when it is made again. */
function decide(
  draft: Draft,
  keys: { readonly [K in keyof typeof credentials]: MintedKey },
  kept: ReadonlySet<string | undefined>,
): null {
  if (!draft.record('project', DEMO_PROJECT)) {
    draft.putRecord({ kind: 'project', id: DEMO_PROJECT, body: { displayName: 'Demo' } });
  }
  const live = draft.instances('credential', { final: false, limit: KEYS_MAX });
  for (const { instance, context } of live.items) {
    if (context.owner !== OWNER || kept.has(instance)) continue;
    const revoked = { type: 'revoked', at: draft.at, reason: 'REPLACED', by: OWNER };
    draft.send('credential', instance, revoked);
  }
  startCredential(draft, keys.apiKey, credentials.apiKey);
  startCredential(draft, keys.collectorKey, credentials.collectorKey);
  return null;
}

function isInForce({ host, clock }: DemoOptions, key: string): boolean {
  const parsed = parseKey(key);
  const instance = parsed && host.findInstance('credential', parsed.id);
  if (instance?.value !== 'active') return false;
  const { hash, expiresMs } = instance.context;
  return hash === hashKey(key) && clock.now() < Number(expiresMs) - RENEW_BEFORE_MS;
}

function readDemoFile(path: string, log: Log): DemoFile | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (isDemoFile(parsed)) return parsed;
  } catch (error) {
    log.warn({ err: error, path }, 'demo.json cannot be read and is made anew');
    return undefined;
  }
  log.warn({ path }, 'demo.json lacks its fields and is made anew');
  return undefined;
}

function isDemoFile(value: unknown): value is DemoFile {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  return ['baseUrl', 'projectName', 'apiKey', 'collectorKey'].every(
    (name) => typeof fields[name] === 'string',
  );
}

/** One field a line: shell tools read it too (see the banner). */
function write(path: string, content: DemoFile): void {
  writeFileDurably({ path, content: `${JSON.stringify(content, null, 2)}\n`, exclusive: false });
}
