/**
 * Making and deleting destinations. Limits are checked inside the decision, at the project's head,
 * so that two clients cannot race past them. Secrets are sealed before the commit that names them:
 * a crash between leaves a sealed value nobody refers to, never a destination without its secret.
 */
import { createHash } from 'node:crypto';
import type { DestinationContext } from '../../machines/destination.ts';
import type { Clock } from '../../streams/clock.ts';
import { type Random, ulid } from '../../streams/random.ts';
import { Refusal } from '../../streams/refusal.ts';
import type { Committed, Host } from '../host-port.ts';
import type {
  CreateDestination,
  CreatedDestination,
  Destinations,
  OneDestination,
} from './destinations-port.ts';
import { checkLimit } from './limits.ts';
import { type SealedValues, urlIdOf } from './sealed-values.ts';

export interface DestinationsDeps {
  readonly host: Host;
  readonly clock: Clock;
  readonly random: Random;
  readonly sealed: SealedValues;
  /** Why a webhook must not go to this URL, as a sentence; undefined when it may. */
  readonly refuseUrl: (url: string) => string | undefined;
  /** A fresh `whsec_...` secret. */
  readonly makeSecret: (random: Random) => string;
}

export function createDestinations(deps: DestinationsDeps): Destinations {
  return {
    create: (creation) => create(deps, creation),
    delete: (deletion) => deleteDestination(deps, deletion),
  };
}

async function create(
  deps: DestinationsDeps,
  creation: CreateDestination,
): Promise<CreatedDestination> {
  const { project, by, request, displayName, target } = creation;
  const { url } = target;
  const refusal = deps.refuseUrl(url);
  if (refusal) throw invalid('destination.webhook.url', refusal);
  const id = `dst_${ulid(deps.clock.now(), deps.random)}`;
  const secretId = `whs_${ulid(deps.clock.now(), deps.random)}`;
  const webhookSecret = deps.makeSecret(deps.random);
  deps.sealed.put(secretId, webhookSecret);
  deps.sealed.put(urlIdOf(id), url);
  try {
    const committed = await deps.host.submit({
      project,
      by,
      request,
      decide(draft) {
        checkLimit(draft, 'destinations');
        const urlDigest = createHash('sha256').update(url).digest('hex');
        const { host } = new URL(url);
        const named = { displayName, urlDigest, host, lastFour: url.slice(-4), secretId };
        draft.start('destination', id, { at: draft.at, project, kind: 'webhook', ...named });
        return { id };
      },
    });
    if (committed.answer.id !== id) forget(deps, secretId, urlIdOf(id));
    const secret = committed.answer.id === id ? webhookSecret : undefined;
    return created(deps.host, project, committed, secret);
  } catch (error) {
    // Only a refusal proves that nothing refers to them; an unknown outcome keeps them.
    if (error instanceof Refusal) forget(deps, secretId, urlIdOf(id));
    throw error;
  }
}

/** What was sealed for it goes once its deletion is committed; a resend repeats that too. */
async function deleteDestination(
  deps: DestinationsDeps,
  { project, by, request, id }: OneDestination,
): Promise<Committed<Record<string, never>>> {
  const { answer, ...committed } = await deps.host.submit({
    project,
    by,
    request,
    decide(draft) {
      const row = draft.instance('destination', id);
      if (!row || row.final) {
        throw new Refusal('NOT_FOUND', `There is no destination ${id} in the project`);
      }
      const { secrets } = row.context as unknown as DestinationContext;
      draft.send('destination', id, { type: 'deleted', at: draft.at, by: by.name });
      return { sealed: [urlIdOf(id), ...secrets.map((secret) => secret.id)] };
    },
  });
  forget(deps, ...answer.sealed);
  return { ...committed, answer: {} };
}

function forget({ sealed }: DestinationsDeps, ...ids: string[]): void {
  for (const id of ids) sealed.delete(id);
}

function created(
  host: Host,
  project: string,
  { answer, sequence }: { answer: { id: string }; sequence: number },
  webhookSecret: string | undefined,
): CreatedDestination {
  const destination = host.view(project).instance('destination', answer.id);
  if (!destination) throw new Error(`The destination ${answer.id} was committed and is not there`);
  return { destination, sequence, ...(webhookSecret === undefined ? {} : { webhookSecret }) };
}

function invalid(field: string, message: string): Refusal {
  return new Refusal('INVALID_FIELD', message, { field });
}
