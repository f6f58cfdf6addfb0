/**
 * Callers in tests of WriteSamples: an authenticator that knows its callers by name, and the
 * existing projects.
 */
import type { ProjectReads } from '../../actors/platform/host/host-port.ts';
import type { Authenticator } from '../../src/platform/access/authenticator.ts';
import type { CredentialPrincipal } from '../../src/platform/access/principal.ts';
import { Refusal } from '../../streams/platform/refusal.ts';

/** Callers by key, each with its differences from the usual. */
const callers: Readonly<Record<string, Partial<CredentialPrincipal>>> = {
  collector: {},
  reader: {},
  bound: { datacenter: 'DC-2' },
  everywhere: { project: '_system', datacenter: 'DC-2' },
  agent: { kind: 'vm', datacenter: 'DC-1', vm: 'vm-1' },
};

/** Existing projects. */
const projects = new Set(['demo', 'second']);

/** A project as far as writing reads it. The records of `fault` cannot be read. */
export function view(project: string) {
  const record = (_kind: string, id: string) => {
    if (id === 'fault') throw new TypeError('A mistake of ours');
    return projects.has(id) ? { id } : undefined;
  };
  return { project, record } as unknown as ProjectReads;
}

function authenticateKey(authorization: string | undefined): CredentialPrincipal {
  const name = authorization?.replace('Bearer ', '');
  if (name === undefined) throw new Refusal('MISSING_CREDENTIAL', 'No Authorization header');
  if (name === 'fault') throw new TypeError('A mistake of ours');
  const who = callers[name];
  if (who === undefined) throw new Refusal('CREDENTIAL_REVOKED', 'The key was revoked');
  const capabilities = name === 'reader' ? ['monitoring.read'] : ['collector'];
  const about = { kind: 'col', credential: 'c1', name: 'c1', project: 'demo' } as const;
  const bounds = { withdrawn: [], expiresMs: Number.POSITIVE_INFINITY, tokenEpoch: null };
  return { ...about, ...bounds, capabilities, datacenter: null, projects: null, vm: null, ...who };
}

export const authenticator: Authenticator = {
  authenticateKey,
  authenticate: async (authorization) => authenticateKey(authorization),
  identify: async ({ authorization }) => authenticateKey(authorization),
  recordRefused: () => {},
  revalidate: (principal) => principal,
  watch: () => () => {},
};
