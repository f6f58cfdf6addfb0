/** A denied exchange as the caller is told it. */
import { Refusal } from '../../../streams/refusal.ts';
import type { Denial } from './denial.ts';

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
