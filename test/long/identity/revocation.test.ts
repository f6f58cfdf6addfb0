/** Revocation under load (`test/identity/revoking.ts`), a thousand times. */
import t from 'tap';
import { revokeUnderLoad } from '../../identity/revoking.ts';

const TRIES = 1_000;

t.test(`IDN-08: no request succeeds after any of ${TRIES} revocations under load`, (t) =>
  revokeUnderLoad(t, TRIES),
);
