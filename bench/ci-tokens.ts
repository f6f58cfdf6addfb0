/**
 * Cost of the tokens of keyless CI, step by step: checking a platform's identity token (RSA 2,048,
 * with cached keys), burning its id, signing an access token, and verifying one for the first time
 * and again. Prints a table; run it alone, because other work on the machine distorts the figures.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { openOnceStore } from '../sqlite/platform/once-store.ts';
import { createAssertionVerifier } from '../src/ci/assertions.ts';
import { IssuerKeys } from '../src/ci/jwks.ts';
import { openAccessTokens } from '../src/identity/auth/access-tokens.ts';
import { silentLog } from '../src/platform/log.ts';
import { systemClock } from '../streams/platform/clock.ts';
import { startCiIssuer } from '../test/support/ci-issuer.ts';
import { secretsIn } from '../test/support/secrets-in-memory.ts';

const TIMES = 3_000;
const AT_ONCE = 64;
const AUDIENCE = 'https://monitoring.example.com/projects/demo';

/** Measures and prints. */
export async function run(): Promise<void> {
  const folder = mkdtempSync(`${tmpdir()}/bench-ci-tokens-`);
  const platform = await startCiIssuer();
  const onceStore = openOnceStore({ path: `${folder}/claims.db`, clock: systemClock });
  try {
    const keys = new IssuerKeys({
      name: 'github',
      clock: systemClock,
      log: silentLog,
      fetchKeys: platform.fetchKeys,
    });
    const issuers = createAssertionVerifier({
      issuers: [{ issuer: platform.issuer, keys }],
      clock: systemClock,
    });
    const sealed = new Map<string, Uint8Array>();
    const tokens = await openAccessTokens({
      secrets: secretsIn(sealed),
      clock: systemClock,
      issuer: () => 'https://monitoring.example.com',
    });
    const assertion = await platform.mint({ aud: AUDIENCE });
    const untilMs = systemClock.now() + 600_000;
    const about = { project: 'demo', connection: 'c', tokenEpoch: 1, expiresMs: untilMs };
    const signed: string[] = [];
    const sign = async (i: number) =>
      void signed.push(await tokens.sign({ ...about, token: `${i}` }));
    const verify = (i: number) => tokens.verify(signed[i % signed.length] ?? '');
    const again = () => tokens.verify(signed[0] ?? '');
    const aim = { issuer: 'github', audience: AUDIENCE };
    console.table([
      await measure('check an identity token', () => issuers.verify(assertion, aim)),
      await measure('burn its id', (i) => onceStore.takeOnce(`id ${i}`, untilMs)),
      await measure('sign an access token', sign),
      await measure('verify one, first time', verify),
      await measure('verify one again', again),
    ]);
  } finally {
    onceStore.close();
    await platform.close();
    rmSync(folder, { recursive: true });
  }
}

/** One after another, then many at a time; every call has its own number. */
async function measure(step: string, call: (i: number) => Promise<unknown>) {
  let number = 0;
  const times: number[] = [];
  for (let i = 0; i < TIMES; i++) {
    const startedMs = performance.now();
    await call(number++);
    times.push(performance.now() - startedMs);
  }
  const startedMs = performance.now();
  const cpu = process.cpuUsage();
  for (let i = 0; i < TIMES; i += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, () => call(number++)));
  }
  const calls = Math.ceil(TIMES / AT_ONCE) * AT_ONCE;
  const { user, system } = process.cpuUsage(cpu);
  times.sort((a, b) => a - b);
  return {
    step,
    'ms p50': (times[Math.floor(TIMES / 2)] ?? 0).toFixed(4),
    'ms p99': (times[Math.floor(TIMES * 0.99)] ?? 0).toFixed(4),
    [`per s, ${AT_ONCE} at once`]: Math.round((calls / (performance.now() - startedMs)) * 1000),
    'CPU ms each': ((user + system) / 1000 / calls).toFixed(4),
  };
}
