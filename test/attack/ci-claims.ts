/**
 * Identity tokens of the right platform that differ from the approved ones: claims changed one at a
 * time, untrusted events, expired times, another connection's name.
 */
import { githubClaims } from '../../src/ci/kinds/github.ts';
import type { Arena } from './arena.ts';
import { sibling } from './tenancy.ts';

export interface CiTry {
  readonly name: string;
  readonly assertion: string;
  /** Default: the attacker's own connection. */
  readonly trustName?: string;
  /** For claims that are recorded but not compared: either answer is right. */
  readonly mayBeAccepted?: boolean;
}

/** A token of the attacker's own workflow, with changes. */
export function mint(
  { target, attacker }: Arena,
  changes: Readonly<Record<string, unknown>> = {},
  header = {},
): Promise<string> {
  const { audience, claims } = attacker.ci;
  return target.platform.mint({ ...claims, aud: audience, ...changes }, { header });
}

/**
 * Claims that are recorded or intentionally ignored, as docs/ci-claims.md lists them. `sub` is
 * never read.
 */
const FREE = new Set([
  ...githubClaims.recorded,
  ...Object.keys(githubClaims.boundWhen ?? {}),
  'sub',
]);

/** Events that no connection accepts, or in a form that no platform writes. */
const EVENTS = [
  'pull_request',
  'pull_request_target',
  'workflow_run',
  'issue_comment',
  'release',
  'create',
  'merge_group',
  'deployment',
  'PUSH',
  'push ',
  'repository_dispatch',
  'workflow_call',
];
const REFS = [
  'refs/heads/main',
  'refs/pull/1/merge',
  'refs/tags/main',
  'main',
  'refs/heads/gh-readonly-queue/main/pr-1',
  'refs/heads/main/../evil',
];

/** Changes each claim in every way, one at a time. */
export async function changedClaims(arena: Arena): Promise<CiTry[]> {
  const { attacker, victim, target } = arena;
  const real = target.platform.payload({ ...attacker.ci.claims, aud: attacker.ci.audience });
  const tries: CiTry[] = [];
  for (const [claim, value] of Object.entries(real)) {
    for (const changed of otherValues(value)) {
      if (changed === value) continue;
      // A token's id may be any text, but only once.
      const isText = typeof changed === 'string' && changed !== '';
      // A list of one audience means the same as the audience (RFC 7519, section 4.1.3).
      const isOneAudience = claim === 'aud' && Array.isArray(changed) && changed.length === 1;
      const mayBeAccepted = FREE.has(claim) || (claim === 'jti' && isText) || isOneAudience;
      const name = `${claim} is ${JSON.stringify(changed) ?? 'nothing'}`;
      tries.push({ name, mayBeAccepted, assertion: await mint(arena, { [claim]: changed }) });
    }
    const assertion = await mint(arena, { [claim]: `${value}y` });
    const name = `${claim} changed, for the other project`;
    tries.push({ name, assertion, trustName: victim.names.CiConnection });
  }
  for (const environment of ['production', '', 'x']) {
    const assertion = await mint(arena, { environment });
    const mayBeAccepted = environment === '';
    tries.push({ name: `environment ${environment}`, assertion, mayBeAccepted });
  }
  return tries;
}

function otherValues(value: unknown): readonly unknown[] {
  const text = String(value);
  return [
    undefined,
    null,
    '',
    true,
    [value],
    [value, value],
    { value },
    `${text}x`,
    `x${text}`,
    ` ${text}`,
    `${text} `,
    `${text}\u0000`,
    `${text}\u200b`,
    text.toUpperCase(),
    text.slice(0, -1),
    text.replace('a', 'а'),
    text.replaceAll('/', '／'),
    typeof value === 'string' ? Number.parseInt(text, 10) : text,
  ];
}

/** Events of pull requests and others, on every kind of ref. */
export async function otherEvents(arena: Arena): Promise<CiTry[]> {
  const tries: CiTry[] = [];
  for (const event_name of EVENTS) {
    for (const ref of REFS) {
      const assertion = await mint(arena, { event_name, ref });
      tries.push({ name: `${event_name} on ${ref}`, assertion });
    }
    const assertion = await mint(arena, { event_name, head_ref: 'evil', base_ref: 'main' });
    tries.push({ name: `${event_name} with head_ref`, assertion });
  }
  return tries;
}

/** The tolerance is 30 s and the maximum age ten minutes; two seconds are left for transport. */
export async function oddTimes(arena: Arena): Promise<CiTry[]> {
  const now = Math.floor(Date.now() / 1000);
  const cases: readonly Readonly<Record<string, unknown>>[] = [
    { exp: now - 32 },
    { exp: now - 3600 },
    { exp: 0 },
    { exp: -1 },
    { exp: String(now + 300) },
    { exp: null },
    { exp: 'never' },
    { iat: now + 60 },
    { iat: now + 3600, exp: now + 7200 },
    { iat: now - 640 },
    { iat: now - 3600 },
    { iat: 0 },
    { iat: -1 },
    { iat: String(now) },
    { nbf: now + 60 },
    { nbf: now + 3600 },
    { nbf: String(now) },
    { nbf: null },
    { nbf: [now] },
    { iat: now - 700, exp: now + 300 },
    { iat: now + 60, nbf: now + 60, exp: now + 330 },
    { iat: 1e300 },
    { exp: now * 1000, iat: now * 1000 },
  ];
  return Promise.all(
    cases.map(async (change) => ({
      name: `times ${JSON.stringify(change)}`,
      assertion: await mint(arena, change),
    })),
  );
}

/** The genuine token, presented to connections that were not approved for it. */
export async function otherTrusts(arena: Arena): Promise<CiTry[]> {
  const { attacker, victim } = arena;
  const theirs = victim.names.CiConnection;
  const own = attacker.names.CiConnection;
  const names = [
    theirs,
    sibling(theirs),
    sibling(own),
    '',
    'x',
    `${own}/`,
    `/${own}`,
    own.toUpperCase(),
    `${own}\u0000`,
    ` ${own}`,
    attacker.names.CiVerification,
    attacker.names.ServiceAccount,
    attacker.project,
    own.replace(attacker.id, victim.id),
    theirs.replace(victim.id, attacker.id),
    '__proto__',
  ];
  return Promise.all(
    names.map(async (trustName) => ({
      name: `trust ${trustName}`,
      trustName,
      assertion: await mint(arena),
    })),
  );
}
