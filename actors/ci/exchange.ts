/**
 * The exchange of a workflow's signed identity for an access token of 15 minutes:
 *
 *   check the assertion -> burn its id -> compare, look at the states -> commit -> sign
 *
 * An unknown trust name goes the same way up to the comparison, as one of the usual issuer: it is
 * answered as a mismatch is, as late, and with an empty list of claims. That list, and a refusal for
 * its issuer where several are configured, may tell a job with a genuine token for this project
 * which names exist; names are no secret. Notes are waited for by nobody. The states are looked at
 * again inside the commit: none is given out after a revocation was acknowledged.
 */
import type { CiConnectionContext } from '../../machines/ci/ci-connection.ts';
import { ulid } from '../../streams/platform/random.ts';
import { Refusal } from '../../streams/platform/refusal.ts';
import { type Grants, grantsOf } from '../identity/grants.ts';
import type { Committed, Instance, ProjectView } from '../platform/host/host-port.ts';
import { connectionDenial, contextDenial, type Denial, UNKNOWN_TRUST } from './denial.ts';
import type { KeylessCiDeps } from './deps.ts';
import {
  ACCESS_TOKEN_MS,
  type CheckedAssertion,
  type Exchanged,
  type ExchangeRequest,
} from './port.ts';
import { proveIdentity, usualIssuer } from './proof.ts';
import type { RefusalNotes, RefusedExchange } from './refusal-notes.ts';
import { deniedExchange, refusedProof } from './refused.ts';

const MACHINE = 'ciConnection';

export async function exchangeAssertion(
  deps: KeylessCiDeps,
  request: ExchangeRequest,
): Promise<Exchanged> {
  const { project, connection: id } = request;
  const view = deps.host.view(project);
  const row = view.instance(MACHINE, id);
  const checked = await prove(deps, request, row);
  // By what was read first; whether it still holds is asked again where a token is at stake.
  const denial = denialOf(view, row, checked);
  if (denial) throw deny(deps, row, denial);
  const given = await commitExchange(deps, { project, id }, checked);
  if ('cause' in given.answer) throw deny(deps, row, given.answer);
  const accessToken = await deps.tokens.sign({ ...given.answer, project, connection: id });
  deps.count('EXCHANGED');
  return { accessToken, expiresMs: given.answer.expiresMs, sequence: given.sequence };
}

/** Of a trust name that is not there, as if it were of the usual issuer. */
async function prove(
  deps: KeylessCiDeps,
  { project, assertion }: ExchangeRequest,
  connection: Instance | undefined,
): Promise<CheckedAssertion> {
  const { issuer, audience } = connection
    ? contextOf(connection)
    : { issuer: usualIssuer(deps.assertions), audience: deps.audienceOf(project) };
  try {
    return await proveIdentity(deps, assertion, { issuer, audience });
  } catch (error) {
    if (error instanceof Refusal && error.reason === 'BAD_ASSERTION') {
      throw badAssertion(deps, connection, error);
    }
    deps.count('NOT_READY');
    throw error;
  }
}

function badAssertion(
  { notes, count }: KeylessCiDeps,
  connection: Instance | undefined,
  refusal: Refusal,
): Refusal {
  count(refusal.metadata.cause === 'REPLAYED' ? 'REPLAYED' : 'BAD_ASSERTION');
  const correlation = noted(notes, connection, refusedProof(refusal));
  return new Refusal(refusal.reason, refusal.message, { ...refusal.metadata, correlation });
}

function denialOf(
  view: ProjectView,
  connection: Instance | undefined,
  checked: CheckedAssertion,
): Denial | undefined {
  const refused = contextDenial(checked.claims);
  if (refused) return refused;
  if (!connection) return UNKNOWN_TRUST;
  return connectionDenial(connection, grantsOfConnection(view, connection), checked);
}

/** Counts and notes a denial; what the caller is told. */
function deny(
  { notes, count }: KeylessCiDeps,
  connection: Instance | undefined,
  denial: Denial,
): Refusal {
  count(connection ? denial.cause : 'UNKNOWN_TRUST');
  const claims = denial.claims.map(({ claim }) => claim);
  return deniedExchange(denial, noted(notes, connection, { code: denial.cause, claims }));
}

/** The correlation id to tell: that of the note, where there is a connection to keep it. */
function noted(
  notes: RefusalNotes,
  connection: Instance | undefined,
  refused: RefusedExchange,
): string {
  return connection && !connection.final ? notes.add(connection, refused) : notes.correlation();
}

interface GivenToken {
  readonly token: string;
  readonly tokenEpoch: number;
  readonly expiresMs: number;
}

/** Nothing is committed when it is denied at the last moment. */
function commitExchange(
  { host, clock, random }: KeylessCiDeps,
  { project, id }: { readonly project: string; readonly id: string },
  checked: CheckedAssertion,
): Promise<Committed<GivenToken | Denial>> {
  const token = ulid(clock.now(), random);
  return host.submit<GivenToken | Denial>({
    project,
    by: { kind: 'ci', name: `projects/${project}/ciConnections/${id}` },
    decide(draft) {
      const row = draft.instance(MACHINE, id);
      const denial = denialOf(draft, row, checked);
      if (denial) return denial;
      const expiresMs = draft.at + ACCESS_TOKEN_MS;
      const { recorded } = checked.claims;
      const event = { type: 'exchanged', at: draft.at, token, expiresMs, recorded };
      const { instance } = draft.send(MACHINE, id, event);
      return { token, expiresMs, tokenEpoch: contextOf(instance).tokenEpoch };
    },
  });
}

function grantsOfConnection(view: ProjectView, connection: Instance): Grants {
  const { serviceAccount: id } = contextOf(connection);
  return grantsOf(view, { project: view.project, machine: 'serviceAccount', id });
}

function contextOf({ context }: Instance): CiConnectionContext {
  return context as unknown as CiConnectionContext;
}
