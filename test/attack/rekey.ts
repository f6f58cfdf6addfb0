/**
 * Change of the master key under load: no call is refused during it, everything stays readable, and
 * afterwards the old key neither opens a value in the files nor starts the service.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { createSeal } from '../../sqlite/platform/secrets/seal.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import { runToEnd } from '../support/program.ts';
import { type Arena, attempt } from './arena.ts';
import { doors } from './doors.ts';

const CREDENTIALS = ['owner', 'viewer', 'personalKey', 'readKey', 'writeKey', 'ciToken'] as const;

export async function attackRekey(arena: Arena): Promise<void> {
  const { target, tally } = arena;
  const keyFile = join(target.folder, 'master.key');
  const old = readFileSync(keyFile, 'utf8').trim();
  const before = sealedValues(target.folder);
  const check = (name: string, why: string | undefined) => tally.record({ name, why });
  check('control: the old key opens every value', unopened(before, old, 0));

  let isChanged = false;
  const changing = target.admin('rekey').finally(() => {
    isChanged = true;
  });
  do await useAll(arena, 'during the change');
  while (!isChanged);
  const { state, unreadable } = await changing;
  check('the change is finished', state === 'changed' ? undefined : String(state));
  check('every value is readable', unreadable === 0 ? undefined : `${unreadable} are not`);
  await useAll(arena, 'after the change');

  const next = readFileSync(keyFile, 'utf8').trim();
  const after = sealedValues(target.folder);
  check('the key file has another key', next === old ? 'it has the old one' : undefined);
  check('no value is lost', after.length >= before.length ? undefined : `${after.length} are left`);
  check('the new key opens every value', unopened(after, next, 0));
  check('the old key opens no value', unopened(after, old, after.length));
  const traces = tracesOf(
    target.folder,
    before.map(({ value }) => value),
    [old, next],
  );
  check('no file has a value under the old key, or a key', traces);
  await tryOldKey(arena, old);
}

/** All credentials work, so the sealed key of access tokens and the sessions are readable. */
async function useAll(arena: Arena, when: string): Promise<void> {
  for (const kind of CREDENTIALS) {
    const [rpc] = doors(arena, arena.attacker.credentials[kind]);
    if (rpc === undefined) continue;
    await attempt(arena, `${kind} ${when}`, rpc, ({ status, text }) =>
      status === 200 ? undefined : `answered ${status} ${text}`,
    );
  }
}

interface Sealed {
  readonly id: string;
  readonly purpose: string;
  readonly value: Buffer;
}

/** Everything sealed in the data folder, read beside the service. */
function sealedValues(folder: string): Sealed[] {
  const database = new Database(join(folder, 'secrets.db'), { readonly: true });
  try {
    return database
      .prepare<[], Sealed>(
        `SELECT id, purpose, value FROM sealed
         UNION ALL SELECT delivery_id, 'body', value FROM bodies
         UNION ALL SELECT attempt_id, 'excerpt', value FROM excerpts`,
      )
      .all();
  } finally {
    database.close();
  }
}

/** undefined if exactly `wanted` of the values do not open under the key. */
function unopened(values: readonly Sealed[], key: string, wanted: number): string | undefined {
  const seal = createSeal({ masterKey: Buffer.from(key, 'base64'), random: systemRandom });
  const closed = values.filter(({ id, purpose, value }) => {
    try {
      seal.open(id, purpose, value);
      return false;
    } catch {
      return true;
    }
  });
  return closed.length === wanted ? undefined : `${closed.length} of ${values.length} stay closed`;
}

/** Files of the data folder that still have one of the values, or a master key. */
function tracesOf(
  folder: string,
  values: readonly Buffer[],
  keys: readonly string[],
): string | undefined {
  const forms = keys.flatMap((key) => [Buffer.from(key), Buffer.from(key, 'base64')]);
  const found = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== 'master.key')
    .filter(({ name }) => {
      const bytes = readFileSync(join(folder, name));
      return [...values, ...forms].some((one) => bytes.includes(one));
    });
  return found.length === 0 ? undefined : found.map(({ name }) => name).join(', ');
}

/** A start on a copy of the folder, with the old key in place. */
async function tryOldKey({ target, tally }: Arena, old: string): Promise<void> {
  const copy = mkdtempSync(join(tmpdir(), 'svc-old-key-'));
  try {
    for (const name of ['secrets.db', 'secrets.db-wal'])
      cpSync(join(target.folder, name), join(copy, name), { force: true });
    writeFileSync(join(copy, 'master.key'), `${old}\n`, { mode: 0o600 });
    const { code, text } = await runToEnd(['serve', '--data', copy, '--listen', '127.0.0.1:0']);
    const isRefused = code === 1 && text.includes('sealed under a master key other than');
    const why = isRefused ? undefined : `it exited with ${code}`;
    tally.record({ name: 'a start with the old key', why, answer: text });
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}
