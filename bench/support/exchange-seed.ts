/**
 * Data folder for a bench of exchanges: a connection approved for the claims of the local issuer's
 * tokens, and many keys. Written by the host's own decisions while the program is not running,
 * because a hundred thousand calls would take longer than the bench.
 */
import { join } from 'node:path';
import { startCredential } from '../../actors/identity/credentials.ts';
import { createHost, type RunningHost } from '../../actors/platform/host/host.ts';
import { machineDefinitions } from '../../machines/audit/registry.ts';
import { openInstanceStore } from '../../sqlite/platform/control/instance-store.ts';
import { openDatabase } from '../../sqlite/platform/database.ts';
import { openEmbeddedStream } from '../../sqlite/platform/embedded-stream/embedded-stream.ts';
import { readIdentity } from '../../src/ci/claim-map.ts';
import { githubClaims } from '../../src/ci/kinds/github.ts';
import { mintKey } from '../../src/platform/keys.ts';
import { DEMO_PROJECT } from '../../src/service/demo.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { systemRandom } from '../../streams/platform/random.ts';
import type { CiIssuer } from '../../test/support/ci-issuer.ts';

const CONNECTION = 'bench';
/** Service account created by the first start of the program. */
const ACCOUNT = 'demo';
const AUDIENCE = 'https://bench.example/projects/demo';
const KEYS_A_DECISION = 100;
const BY = { kind: 'operator', name: 'bench' } as const;

export const TRUST_NAME = `projects/${DEMO_PROJECT}/ciConnections/${CONNECTION}`;

/** The audience required of assertions. */
export async function seedConnection(folder: string, platform: CiIssuer): Promise<string> {
  const { bound } = readIdentity(githubClaims, platform.payload());
  await withHost(folder, (host) =>
    host.submit({
      project: DEMO_PROJECT,
      by: BY,
      decide: (draft) =>
        void draft.start('ciConnection', CONNECTION, {
          at: draft.at,
          project: DEMO_PROJECT,
          serviceAccount: ACCOUNT,
          bound,
          displayName: 'Bench',
          capabilities: ['monitoring.read'],
          issuer: 'github',
          issuerUrl: platform.issuer.url,
          audience: AUDIENCE,
          verification: 'bench',
          digest: '',
          createdBy: BY.name,
        }),
    }),
  );
  return AUDIENCE;
}

/** Keys of the service account. */
export async function seedKeys(folder: string, count: number): Promise<void> {
  const owner = `projects/${DEMO_PROJECT}/serviceAccounts/${ACCOUNT}`;
  const kind = 'sk';
  await withHost(folder, async (host) => {
    for (let made = 0; made < count; made += KEYS_A_DECISION) {
      await host.submit({
        project: DEMO_PROJECT,
        by: BY,
        decide(draft) {
          for (let i = made; i < Math.min(count, made + KEYS_A_DECISION); i++) {
            const minted = mintKey(kind, { nowMs: draft.at, random: systemRandom });
            const about = { project: DEMO_PROJECT, displayName: `Key ${i}`, owner, kind } as const;
            startCredential(draft, minted, { ...about, capabilities: ['monitoring.read'] });
          }
        },
      });
    }
  });
}

async function withHost(folder: string, use: (host: RunningHost) => Promise<unknown>) {
  const clock = systemClock;
  const random = systemRandom;
  const path = join(folder, 'control.db');
  const database = openDatabase({ path, synchronous: 'NORMAL', migrations: [] });
  const stream = openEmbeddedStream({ storage: join(folder, 'events.db'), clock, random });
  const host = createHost({
    stream,
    store: openInstanceStore(database),
    clock,
    random,
    node: 'bench',
    machines: machineDefinitions,
    expand: () => {},
  });
  try {
    await host.start();
    await use(host);
  } finally {
    await host.stop();
    await stream.close();
    database.close();
  }
}
