/** The cookie that carries a sign-in to the provider and back. */
import { EncryptJWT } from 'jose';
import { test } from 'tap';
import { createLoginStates } from '../../src/identity/sign-in/login-state.ts';
import { scrubSecrets } from '../../src/platform/log.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

test('the login state is sealed, and valid for ten minutes', async (t) => {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const [key, other] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const states = createLoginStates(key, clock);
  const state = { state: 's', nonce: 'n', verifier: 'v', returnPath: '/', again: '' };
  const sealed = await states.seal(state);
  t.same(await states.open(sealed), state);
  t.equal(scrubSecrets(`svc_login=${sealed}; a=b`), 'svc_login=[redacted token]; a=b');
  t.equal(await createLoginStates(other, clock).open(sealed), undefined);
  t.equal(await states.open(`${sealed.slice(0, -2)}AA`), undefined);
  t.equal(await states.open('nothing'), undefined);
  const foreign = await new EncryptJWT({ ...state })
    .setProtectedHeader({ alg: 'dir', enc: 'A256GCM' })
    .setAudience('another purpose')
    .setIssuedAt(clock.now() / 1000)
    .setExpirationTime(clock.now() / 1000 + 60)
    .encrypt(key);
  t.equal(await states.open(foreign), undefined);
  await clock.advance(600_000);
  t.equal(await states.open(sealed), undefined);
});
