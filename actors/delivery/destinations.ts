/**
 * Creates, changes and deletes destinations. Limits are checked inside the decision, at the project's
 * head, so that two clients cannot race past them. URLs and signing secrets are sealed before the
 * commit that names them: a crash between the two leaves an unused sealed value, never a destination
 * without its secret.
 */
import { createHash } from 'node:crypto';
import type { DestinationKind, KeptAddress } from '../../machines/delivery/destination.ts';
import { ulid } from '../../streams/platform/random.ts';
import { invalidField, Refusal } from '../../streams/platform/refusal.ts';
import { activePeople } from '../alerting/eligible.ts';
import { endNotice } from '../alerting/notices.ts';
import type { Committed, Draft } from '../platform/host/host-port.ts';
import { checkLimit } from '../platform/project-limits.ts';
import {
  mailOf,
  pause,
  resume,
  rotateSecret,
  sendTest,
  testLimits,
  verify,
} from './destination-acts.ts';
import { committedRow, destinationOf, livingRow, pausedNotice } from './destination-rows.ts';
import type {
  Changed,
  CreateDestination,
  Destinations,
  DestinationsDeps,
  NewTarget,
  OneDestination,
  UpdateDestination,
  WithSecret,
} from './destinations-port.ts';
import {
  endBounceNotice,
  type Invitation,
  invite,
  mailInvitation,
  parseAddresses,
  recipientRows,
  removeRecipients,
  setRecipients,
} from './recipients.ts';
import { forget, submitSealed, urlIdOf } from './sealed-values.ts';

export function createDestinations(deps: DestinationsDeps): Destinations {
  const tests = testLimits(deps.clock);
  return {
    create: (creation) => create(deps, creation),
    update: (update) => change(deps, update),
    delete: (deletion) => deleteDestination(deps, deletion),
    pause: (act) => pause(deps, act),
    resume: (act) => resume(deps, act),
    rotateSecret: (rotation) => rotateSecret(deps, rotation),
    verify: (act) => verify(deps, act),
    sendTest: (act) => sendTest(deps, tests, act),
  };
}

/** A target prepared before the decision. Only its ids and digests are committed. */
interface Prepared {
  readonly kind: DestinationKind;
  readonly address: KeptAddress;
  /** By address; empty except for mail. */
  readonly invitations: ReadonlyMap<string, Invitation>;
}

const NO_ADDRESS: KeptAddress = { urlId: null, urlDigest: '', host: '', lastFour: '' };

async function create(deps: DestinationsDeps, creation: CreateDestination): Promise<WithSecret> {
  const { project, by, request, displayName } = creation;
  const { kind, address, invitations } = prepare(deps, creation.target, 'destination');
  const id = `dst_${ulidOf(deps)}`;
  const secretId = kind === 'webhook' ? `whs_${ulidOf(deps)}` : null;
  const webhookSecret = secretId === null ? undefined : deps.makeSecret(deps.random);
  if (secretId !== null) deps.sealed.put(secretId, webhookSecret ?? '');
  const ours = [address.urlId, secretId];
  const { answer, ...committed } = await submitSealed(deps.sealed, ours, () =>
    deps.host.submit({
      ...{ project, by, request },
      decide(draft) {
        checkLimit(draft, 'destinations');
        const input = { project, kind, displayName, ...address, secretId };
        draft.start('destination', id, { at: draft.at, ...input });
        return { id, invited: setRecipients(draft, id, invitations, activePeople(deps.host)) };
      },
    }),
  );
  if (answer.id !== id) forget(deps.sealed, ours);
  else mailAll(deps, project, invitations, answer.invited);
  const destination = committedRow(deps.host, project, answer.id);
  const isFirst = answer.id === id && webhookSecret !== undefined;
  const { sequence } = committed;
  return { destination, sequence, ...(isFirst && { webhookSecret }) };
}

async function change(deps: DestinationsDeps, update: UpdateDestination): Promise<Changed> {
  const { project, by, request, id, displayName, target } = update;
  const prepared = target && prepare(deps, target, '');
  const ours = [prepared?.address.urlId ?? null];
  const { answer, replayed, sequence } = await submitSealed(deps.sealed, ours, () =>
    deps.host.submit({
      ...{ project, by, request },
      decide(draft) {
        const before = destinationOf(livingRow(draft, id));
        if (displayName !== undefined && displayName !== before.displayName) {
          draft.send('destination', id, {
            type: 'renamed',
            at: draft.at,
            displayName,
            by: by.name,
          });
        }
        return prepared
          ? retarget(deps, draft, { id, prepared, by: by.name })
          : { urlId: null, discarded: [], invited: [] };
      },
    }),
  );
  if (answer.urlId !== ours[0]) forget(deps.sealed, ours);
  forget(deps.sealed, answer.discarded);
  if (prepared && !replayed) mailAll(deps, project, prepared.invitations, answer.invited);
  return { destination: committedRow(deps.host, project, id), sequence };
}

/** The result of a new target: the id of its URL, sealed values to delete, invited recipients. */
interface Retargeted {
  readonly urlId: string | null;
  readonly discarded: readonly string[];
  readonly invited: readonly string[];
}

function retarget(
  { host }: DestinationsDeps,
  draft: Draft,
  { id, prepared, by }: { readonly id: string; readonly prepared: Prepared; readonly by: string },
): Retargeted {
  const { kind, address, invitations } = prepared;
  const before = destinationOf(livingRow(draft, id));
  if (before.kind !== kind) {
    const message = `${id} is of kind ${before.kind}, which cannot change: create another destination`;
    throw invalidField(kind, message);
  }
  if (kind === 'email') {
    const invited = setRecipients(draft, id, invitations, activePeople(host));
    return { urlId: null, discarded: [], invited };
  }
  if (before.urlDigest === address.urlDigest) return { urlId: null, discarded: [], invited: [] };
  draft.send('destination', id, { type: 'retargeted', at: draft.at, ...address, by });
  return { urlId: address.urlId, discarded: [urlIdOf(id, before)], invited: [] };
}

/** Sealed values are deleted once the deletion is committed; a repeated request deletes them too. */
async function deleteDestination(
  deps: DestinationsDeps,
  { project, by, request, id }: OneDestination,
): Promise<Committed<Record<string, never>>> {
  const { answer, ...committed } = await deps.host.submit({
    ...{ project, by, request },
    decide(draft) {
      const context = destinationOf(livingRow(draft, id));
      removeRecipients(draft, recipientRows(draft, id), 'DESTINATION_DELETED');
      draft.send('destination', id, { type: 'deleted', at: draft.at, by: by.name });
      endNotice(draft, pausedNotice(id));
      endBounceNotice(draft, id);
      const secrets = context.secrets.map((secret) => secret.id);
      return { sealed: [...(context.kind === 'email' ? [] : [urlIdOf(id, context)]), ...secrets] };
    },
  });
  forget(deps.sealed, answer.sealed);
  return { ...committed, answer: {} };
}

/** Checks a target and seals its URL. Throws a `Refusal`, with nothing sealed. */
function prepare(deps: DestinationsDeps, target: NewTarget, path: string): Prepared {
  const within = (field: string) => (path === '' ? field : `${path}.${field}`);
  if ('addresses' in target) {
    const { tokens } = mailOf(deps);
    const addresses = parseAddresses(within('email.recipients'), target.addresses);
    const invitations = invite({ tokens, newId: () => `rcp_${ulidOf(deps)}` }, addresses);
    return { kind: 'email', address: NO_ADDRESS, invitations };
  }
  const { kind, url } = target;
  const refusal = deps.refuseUrl(kind, url);
  if (refusal) {
    throw new Refusal('INVALID_FIELD', refusal, { field: within(`${kind}.url`) });
  }
  const urlId = `url_${ulidOf(deps)}`;
  deps.sealed.put(urlId, url);
  const urlDigest = createHash('sha256').update(url).digest('hex');
  const address = { urlId, urlDigest, host: new URL(url).host, lastFour: url.slice(-4) };
  return { kind, address, invitations: new Map() };
}

/** Sends verification mails within the limits; `verify` sends the rest later. */
function mailAll(
  { host, mail }: DestinationsDeps,
  project: string,
  invitations: ReadonlyMap<string, Invitation>,
  invited: readonly string[],
): void {
  for (const [address, invitation] of invitations) {
    if (!mail || !invited.includes(invitation.id)) continue;
    const { mails } = mail;
    if (mails.take(project, address) === 0) mailInvitation(mails, host, project, invitation);
  }
}

function ulidOf({ clock, random }: DestinationsDeps): string {
  return ulid(clock.now(), random);
}
