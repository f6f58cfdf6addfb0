/**
 * Why an exchange is denied, decided from plain data: the connection as it is, its service account
 * as it is, and what the token shows. In this order, so that a stranger learns nothing of a
 * connection but that what they showed is not what it wants; only a workflow that is the approved
 * one is told how the connection stands.
 */
import type { CiConnectionContext } from '../../machines/ci/ci-connection.ts';
import { shownUrl } from '../../streams/platform/shown-url.ts';
import { type Grants, within } from '../identity/grants.ts';
import type { Instance } from '../platform/host/host-port.ts';
import { type ClaimDifference, compareClaims } from './match.ts';
import type { CheckedAssertion, DenialCause, ShownIdentity } from './port.ts';

export interface Denial {
  readonly cause: DenialCause;
  readonly message: string;
  readonly claims: readonly ClaimDifference[];
}

/** A run of a kind that is never trusted, whatever is approved; undefined when it may be. */
export function contextDenial({ refused }: ShownIdentity): Denial | undefined {
  const [first] = refused;
  if (first === undefined) return undefined;
  const got = first.got === null ? 'missing' : quoted(first.got);
  const seen = `${first.claim} is ${got}${first.why === undefined ? '' : `; ${first.why}`}`;
  if (refused.some(({ got }) => got !== null && PULL_REQUEST.test(got))) {
    return {
      cause: 'PULL_REQUEST',
      message: `A run for a pull request is never trusted, whatever is approved (${seen}): run the workflow on the approved branch`,
      claims: refused,
    };
  }
  return {
    cause: 'CONTEXT_REFUSED',
    message: `A run of this kind is never trusted (${seen}): run the workflow from a branch, by a push, by hand or on a schedule`,
    claims: refused,
  };
}

/** Pull requests, merge requests and merge queues, as events, refs and sources are called. */
const PULL_REQUEST =
  /pull_?request|merge[_-]?request|merge_group|gh-readonly-queue|^(refs\/(heads\/)?)?pull\//i;

/** Why an issuer is not the one that was meant; undefined when it is. */
export function issuerDenial(
  meant: { readonly issuer: string; readonly issuerUrl: string },
  { issuerUrl }: Pick<CheckedAssertion, 'issuerUrl'>,
): Denial | undefined {
  if (meant.issuerUrl === issuerUrl) return undefined;
  return {
    cause: 'ISSUER_CHANGED',
    message: `The issuer ${meant.issuer} is ${shownUrl(issuerUrl)} now, and was ${shownUrl(meant.issuerUrl) || 'another one'} when the trust was set up: the operator can put SVC_CI_ISSUERS back, or give the other issuer a name of its own; to trust the present one start a new verification`,
    claims: [],
  };
}

/** Told of a trust name that is not there, and of a deleted one to whoever it is not for. */
export const UNKNOWN_TRUST: Denial = {
  cause: 'IDENTITY_MISMATCH',
  message:
    'The identity of the workflow is not the one approved under this trust name: check SVC_TRUST, and that the run is of the approved workflow, branch, event and environment',
  claims: [],
};

/** Why this connection does not take what was shown; undefined when it does. */
export function connectionDenial(
  connection: Instance,
  grants: Grants,
  checked: Pick<CheckedAssertion, 'issuerUrl' | 'claims'>,
): Denial | undefined {
  const context = connection.context as unknown as CiConnectionContext;
  // Before the claims: ids of another issuer prove nothing, whatever they are.
  const other = issuerDenial(context, checked);
  if (other) return connection.final ? UNKNOWN_TRUST : other;
  const { claims: shown } = checked;
  const compared = compareClaims(context.bound, shown.bound, shown);
  if (!compared.isSame) {
    if (connection.final) return UNKNOWN_TRUST;
    const { differences: claims, isRenamed } = compared;
    return { ...(isRenamed ? RENAMED : mismatch(claims)), claims };
  }
  return standing(connection, grants, context.capabilities);
}

function standing(
  { value }: Instance,
  grants: Grants,
  capabilities: readonly string[],
): Denial | undefined {
  if (value === 'deleted') return denial('CONNECTION_DELETED', 'was deleted: verify this one anew');
  if (value !== 'enabled') {
    return denial('CONNECTION_DISABLED', 'is disabled: an owner of the project can enable it');
  }
  if (grants.state !== 'active') {
    const told = grants.state === 'gone' ? 'gone' : 'disabled';
    return denial('ACCOUNT_DISABLED', `acts for a service account that is ${told}`);
  }
  if (within(capabilities, grants.capabilities).length > 0) return undefined;
  return denial(
    'NO_PERMISSION_LEFT',
    'has no permission that its service account still has: an owner of the project can change either',
  );
}

function denial(cause: DenialCause, standing: string): Denial {
  return { cause, message: `The connection of this workflow ${standing}`, claims: [] };
}

const RENAMED = {
  cause: 'IDENTITY_RENAMED',
  message:
    'The repository or its owner has another name than the one approved, under the same id: start a new verification, and use the trust name that it gives',
} as const;

function mismatch(claims: readonly ClaimDifference[]) {
  const names = claims.map(({ claim }) => claim).join(', ');
  return {
    cause: 'IDENTITY_MISMATCH',
    message: `The identity of the workflow is not the approved one (${names}): run the approved workflow on its branch, event and environment, or start a new verification for this one`,
  } as const;
}

/** What a token said, short enough for a sentence. */
function quoted(text: string): string {
  return JSON.stringify(text.length > 100 ? `${text.slice(0, 100)}...` : text);
}
