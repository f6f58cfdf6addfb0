/** Keyless CI, put together: verifications, connections, the exchange, and notes of refusals. */
import {
  deleteConnection,
  disableConnection,
  editConnection,
  enableConnection,
} from './connections.ts';
import type { KeylessCiDeps } from './deps.ts';
import { exchangeAssertion } from './exchange.ts';
import type { KeylessCi } from './port.ts';
import { RefusalNotes, type RefusalNotesDeps } from './refusal-notes.ts';
import { submitProof } from './submit-proof.ts';
import { approveVerification, rejectVerification, startVerification } from './verifications.ts';
import { WrongCodes } from './wrong-codes.ts';

export type KeylessCiOptions = Omit<KeylessCiDeps, 'notes' | 'wrongCodes' | 'audienceOf'> &
  Pick<RefusalNotesDeps, 'onLost'> & {
    /** Origin under which the service is reached, without a slash at its end. */
    readonly publicUrl: () => string;
  };

/** Close it before the host is stopped. */
export function createKeylessCi(options: KeylessCiOptions): KeylessCi {
  // Unique for each deployment and project: a token made for one is of no use in another.
  const audienceOf = (project: string): string => `${options.publicUrl()}/projects/${project}`;
  const notes = new RefusalNotes(options);
  const wrongCodes = new WrongCodes(options.clock);
  const deps: KeylessCiDeps = { ...options, notes, wrongCodes, audienceOf };
  return {
    audienceOf,
    start: (request) => startVerification(deps, request),
    submitProof: (proof) => submitProof(deps, proof),
    approve: (request) => approveVerification(deps, request),
    reject: (request) => rejectVerification(deps, request),
    edit: (request) => editConnection(deps, request),
    disable: (request) => disableConnection(deps, request),
    enable: (request) => enableConnection(deps, request),
    delete: (request) => deleteConnection(deps, request),
    exchange: (request) => exchangeAssertion(deps, request),
    settled: () => notes.settled(),
    close: () => notes.close(),
  };
}
