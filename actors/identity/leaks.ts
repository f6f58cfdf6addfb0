/**
 * Revokes leaked secrets. The text of a secret is itself the proof: its holder could use it, so its
 * holder may revoke it. Each secret is found by its id, compared by digest, and ended at its
 * project's head, in one decision with the notice for the people concerned.
 *
 *     key, access token, pairing code, enrolment token, invitation   their project
 *     session, sign-in link                                          _system, then the person's
 *     projects
 */
import type { MachineName } from '../../machines/audit/registry.ts';
import { type Actor, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import type { Draft, Host, Instance } from '../platform/host/host-port.ts';
import { displayedOwner, recordAccessChange } from './access-notices.ts';
import { describeCredential } from './credentials.ts';
import { parseOwner } from './grants.ts';
import { isKeyLive } from './key-state.ts';
import { withdrawInvitation } from './open-invitations.ts';
import { endWithConfirmed } from './sessions.ts';
import { sameDigest } from './sign-in-secrets.ts';

declare module '../platform/host/rows.ts' {
  interface RecordBodies {
    leakToNote: { readonly person: string; readonly what: string };
  }
}

/** A reported secret, recognised by its form. */
export type FoundSecret =
  | {
      readonly kind: 'key' | 'session' | 'link' | 'inv' | 'enrol' | 'pair';
      /** Id in the text, of the secret's row. */
      readonly id: string;
      /** SHA-256 of the text, hex. */
      readonly hash: string;
    }
  /** A verified access token of a CI workflow. */
  | {
      readonly kind: 'token';
      readonly project: string;
      readonly connection: string;
      readonly tokenEpoch: number;
    };

/** A secret that a report has ended. */
export interface EndedSecret {
  /** Resource name. */
  readonly name: string;
  readonly kind: FoundSecret['kind'];
}

const REASON = 'LEAKED';

type LeakHost = Pick<Host, 'submit' | 'view' | 'findInstance' | 'findInstancesOf'>;

/** The machine that has the rows of each kind of secret. */
interface MachineOf {
  readonly key: 'credential';
  readonly token: 'ciConnection';
  readonly pair: 'ciVerification';
  readonly enrol: 'enrolment';
  readonly inv: 'invitation';
  readonly session: 'session';
  readonly link: 'signInLink';
}

/** Finds and ends one kind of secret. */
interface Ending<M extends MachineName> {
  readonly machine: M;
  /** True if the row belongs to exactly this secret and it still gives access. */
  isOpen(row: Instance<M>, found: FoundSecret, nowMs: number): boolean;
  /** Ends it in a decision of its project. */
  end(draft: Draft, row: Instance<M>, by: Actor): void;
  nameOf(row: Instance<M>): string;
}

/**
 * Ends a secret at once. Returns undefined, without a commit, for an unknown secret and for one
 * that no longer gives access. Throws the errors of `Host.submit`.
 *
 * @param nowMs Unix ms
 */
export async function endLeaked(
  host: LeakHost,
  found: FoundSecret,
  { by, nowMs }: { readonly by: Actor; readonly nowMs: number },
): Promise<EndedSecret | undefined> {
  // It receives only rows of its own machine.
  const ending: Ending<MachineOf[FoundSecret['kind']]> = ENDINGS[found.kind];
  const row =
    found.kind === 'token'
      ? host.view(found.project).instance(ending.machine, found.connection)
      : host.findInstance(ending.machine, found.id);
  if (!row || !ending.isOpen(row, found, nowMs)) return undefined;
  const { answer } = await host.submit({
    project: row.project,
    by,
    decide(draft) {
      const head = draft.instance(ending.machine, row.instance);
      if (!head || !ending.isOpen(head, found, draft.at)) return false;
      ending.end(draft, head, by);
      return true;
    },
  });
  if (!answer) return undefined;
  if (row.project === SYSTEM_PROJECT) await recordLeaksOfPeople(host);
  return { name: ending.nameOf(row), kind: found.kind };
}

/** Record of `_system`: a leak of which a person's projects must be notified. */
const TO_NOTE = 'leakToNote';

/**
 * Notifies the projects of people whose session or link leaked, including leaks that a crash left
 * unreported. Throws the errors of `Host.submit`.
 */
export async function recordLeaksOfPeople(
  host: Pick<Host, 'submit' | 'view' | 'findInstancesOf'>,
): Promise<void> {
  for (;;) {
    const [record] = host.view(SYSTEM_PROJECT).records(TO_NOTE, { limit: 1 }).items;
    if (!record) return;
    const { person, what } = record.body;
    const places = host.findInstancesOf('membership', person);
    for (const { project, instance: member, value, context } of places) {
      if (value !== 'active') continue;
      const { displayName } = context;
      const text = `${what} of ${displayName} (people/${person}) leaked and was ended`;
      await host.submit({
        project,
        by: SERVICE,
        decide: (draft) => recordLeak(draft, text, member),
      });
    }
    await host.submit({
      project: SYSTEM_PROJECT,
      by: SERVICE,
      decide: (draft) => draft.putRecord({ kind: TO_NOTE, id: record.id, body: null }),
    });
  }
}

const SERVICE: Actor = { kind: 'service', name: 'service/leak-report' };

function recordLeak(draft: Draft, text: string, member: string | null): void {
  recordAccessChange(draft, { about: 'LEAK', text, isForOwners: true, member });
}

/** Records a leak of a person's secret in the decision of `_system` that ends it. */
function recordLeakOf(draft: Draft, row: Instance<'session' | 'signInLink'>, what: string): void {
  const body = { person: row.context.person, what };
  draft.putRecord({ kind: TO_NOTE, id: row.instance, body });
}

function isHash(stored: unknown, found: FoundSecret): boolean {
  return found.kind !== 'token' && sameDigest(stored, found.hash);
}

const ENDINGS: { readonly [Kind in FoundSecret['kind']]: Ending<MachineOf[Kind]> } = {
  key: {
    machine: 'credential',
    isOpen: (row, found, nowMs) => isHash(row.context.hash, found) && isKeyLive(row, nowMs),
    end(draft, row, by) {
      const key = row.context;
      draft.send('credential', row.instance, {
        type: 'revoked',
        at: draft.at,
        reason: REASON,
        by: by.name,
      });
      const owner = parseOwner(key.owner);
      const member = owner?.machine === 'membership' ? owner.id : null;
      const what = `The ${describeCredential(key)} of ${displayedOwner(draft, key.owner)}`;
      recordLeak(draft, `${what} leaked and was revoked`, member);
    },
    nameOf: ({ context, instance }) => `${context.owner}/keys/${instance}`,
  },
  token: {
    machine: 'ciConnection',
    isOpen: (row, found) =>
      found.kind === 'token' &&
      row.value === 'enabled' &&
      row.context.tokenEpoch === found.tokenEpoch,
    end(draft, row, by) {
      draft.send('ciConnection', row.instance, {
        type: 'tokensEnded',
        at: draft.at,
        reason: REASON,
        by: by.name,
      });
      const name = ENDINGS.token.nameOf(row);
      const what = `An access token of the CI connection "${row.context.displayName}"`;
      recordLeak(draft, `${what} (${name}) leaked. All of its tokens were ended`, null);
    },
    nameOf: ({ project, instance }) => `projects/${project}/ciConnections/${instance}`,
  },
  pair: {
    machine: 'ciVerification',
    // True even after the code was used: the identity observed with it must not be approved.
    isOpen: (row, found, nowMs) =>
      isHash(row.context.codeHash, found) && !row.final && nowMs < row.context.expiresMs,
    end(draft, row, by) {
      draft.send('ciVerification', row.instance, {
        type: 'rejected',
        at: draft.at,
        reason: REASON,
        by: by.name,
      });
      const name = ENDINGS.pair.nameOf(row);
      recordLeak(
        draft,
        `The pairing code of ${name} leaked, and the verification was rejected`,
        null,
      );
    },
    nameOf: ({ project, instance }) => `projects/${project}/ciVerifications/${instance}`,
  },
  enrol: {
    machine: 'enrolment',
    isOpen: (row, found, nowMs) =>
      isHash(row.context.tokenHash, found) &&
      row.value === 'offered' &&
      nowMs < row.context.expiresMs,
    end(draft, row, by) {
      draft.send('enrolment', row.instance, {
        type: 'tokenWithdrawn',
        at: draft.at,
        reason: REASON,
        by: by.name,
      });
      const name = ENDINGS.enrol.nameOf(row);
      recordLeak(draft, `The enrolment token of ${name} leaked and was withdrawn`, null);
    },
    nameOf: ({ project, context }) => `projects/${project}/vms/${context.vm}`,
  },
  inv: {
    machine: 'invitation',
    isOpen: (row, found, nowMs) =>
      isHash(row.context.tokenHash, found) &&
      row.value === 'pending' &&
      nowMs < row.context.expiresMs,
    end(draft, row, by) {
      withdrawInvitation(draft, row, by.name);
      const { email } = row.context;
      recordLeak(draft, `The invitation of ${email} leaked and was withdrawn`, null);
    },
    nameOf: ({ project, instance }) => `projects/${project}/invitations/${instance}`,
  },
  session: {
    machine: 'session',
    isOpen(row, found, nowMs) {
      const { hash, previous, givenUp, expiresMs } = row.context;
      const known = [hash, previous?.hash, ...givenUp];
      const isKnown = known.some((each) => isHash(each, found));
      return isKnown && row.value === 'active' && nowMs < expiresMs;
    },
    end(draft, row) {
      endWithConfirmed(draft, row, REASON);
      recordLeakOf(draft, row, 'A session');
    },
    nameOf: ({ context, instance }) => `people/${context.person}/sessions/${instance}`,
  },
  link: {
    machine: 'signInLink',
    isOpen: (row, found, nowMs) =>
      isHash(row.context.tokenHash, found) &&
      row.value === 'issued' &&
      nowMs < row.context.expiresMs,
    end(draft, row) {
      draft.send('signInLink', row.instance, { type: 'revoked', at: draft.at, reason: REASON });
      recordLeakOf(draft, row, 'A sign-in link');
    },
    nameOf: ({ context, instance }) => `people/${context.person}/links/${instance}`,
  },
};
