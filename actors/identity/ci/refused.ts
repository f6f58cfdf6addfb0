/** A denied exchange as the caller is told it. */
import { Refusal } from '../../../streams/refusal.ts';
import type { Denial } from './denial.ts';

/** EXCHANGE_DENIED with `cause`, `correlation` (of the note) and `claims` (JSON). */
export function deniedExchange({ cause, message, claims }: Denial, correlation: string): Refusal {
  return new Refusal('EXCHANGE_DENIED', message, {
    ...{ cause, correlation },
    claims: JSON.stringify(claims),
  });
}
