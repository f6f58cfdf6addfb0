/**
 * A process that changes the master key of a store and kills itself after a step:
 * `node key-change-program.ts FOLDER NEXT-KEY STEP[:COUNT]`.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSecretStore } from '../../sqlite/platform/secrets/local-secrets.ts';
import { replaceMasterKey } from '../../src/platform/master-key.ts';
import { systemRandom } from '../../streams/platform/random.ts';

const [folder = '', next = '', end = ''] = process.argv.slice(2);
const [step, count = '1'] = end.split(':');
const keyFile = join(folder, 'master.key');
const store = openSecretStore({
  path: join(folder, 'secrets.db'),
  masterKey: Buffer.from(readFileSync(keyFile, 'utf8'), 'base64'),
  random: systemRandom,
  keep: (key) => replaceMasterKey(keyFile, key),
});
let seen = 0;
await store.changeKey({
  next: Buffer.from(next, 'base64'),
  members: () => [],
  onStep(reached) {
    if (reached !== step) return;
    seen += 1;
    if (seen === Number(count)) process.kill(process.pid, 'SIGKILL');
  },
});
