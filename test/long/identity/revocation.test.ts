/** Revocation under load (`test/identity/revoking.ts`), a thousand times. */
import t from 'tap';
import { revokeUnderLoad } from '../../identity/revoking.ts';

const TRIES = 1_000;

t.test(`Of ${TRIES} revocations under load, no request after the answer succeeds`, (t) =>
  revokeUnderLoad(t, TRIES),
);
