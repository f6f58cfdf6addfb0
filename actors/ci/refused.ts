/** A denied exchange as the caller is told it, and a refusal as it is noted. */
import { Refusal } from '../../streams/platform/refusal.ts';
import type { Denial } from './denial.ts';
import type { RefusedExchange } from './refusal-notes.ts';

/**
 * EXCHANGE_DENIED with `cause`, `claims` (JSON), and `correlation`: the id of the note that counts
 * it, where there is one.
 */
export function deniedExchange({ cause, message, claims }: Denial, correlation?: string): Refusal {
  return new Refusal('EXCHANGE_DENIED', message, {
    cause,
    claims: JSON.stringify(claims),
    ...(correlation !== undefined && { correlation }),
  });
}

/** Of what a BAD_ASSERTION or an EXCHANGE_DENIED without a connection is noted. */
export function refusedProof({ reason, metadata }: Refusal): RefusedExchange {
  const { cause = '', claims = '[]' } = metadata;
  if (reason === 'EXCHANGE_DENIED') {
    const listed: readonly { readonly claim: string }[] = JSON.parse(claims);
    return { code: cause, claims: listed.map(({ claim }) => claim) };
  }
  return { code: cause === '' ? reason : `${reason} ${cause}`, claims: [] };
}
