/**
 * What refuses a start by looking alone: files that the settings name, addresses to listen on, the
 * key of the secrets. All of it is looked at before the first byte is written, because a start that
 * is refused must leave everything as it was: the data, the streams, and whoever uses them.
 */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { assertSealedUnder } from '../../sqlite/platform/secret-store.ts';
import type { Random } from '../../streams/platform/random.ts';
import { readClientSecret } from '../identity/open-sign-in.ts';
import { toDataFolderFault } from '../platform/data-folder.ts';
import { listenOn } from '../platform/http/listening.ts';
import { loadTls } from '../platform/http/tls.ts';
import { findMasterKey } from '../platform/master-key.ts';
import type { ListenAddress } from '../platform/settings/setting-kinds.ts';
import type { Settings } from '../platform/settings/settings.ts';

/** File of the sealed secrets in the data folder. */
export const SECRETS_FILE = 'secrets.db';

/**
 * Changes nothing that stays. Throws `ConfigError`, `WrongMasterKey` and `DataFolderUnusable` with
 * what would do.
 */
export async function assertStartable(settings: Settings, random: Random): Promise<void> {
  const { tlsCertFile, tlsKeyFile, oidcClientSecretFile } = settings;
  if (tlsCertFile !== null && tlsKeyFile !== null) {
    loadTls({ certFile: tlsCertFile, keyFile: tlsKeyFile });
  }
  if (oidcClientSecretFile !== null) readClientSecret(oidcClientSecretFile);
  assertKeyOpens(settings, random);
  await assertAddressesFree(settings);
}

function assertKeyOpens(settings: Settings, random: Random): void {
  const path = join(settings.data, SECRETS_FILE);
  const masterKey = findMasterKey({
    file: settings.masterKeyFile,
    mustExist: settings.masterKeyFileGiven,
    storePath: path,
  });
  if (masterKey === undefined) return;
  try {
    assertSealedUnder({ path, masterKey, random });
  } catch (error) {
    throw toDataFolderFault(error, path);
  }
}

/** Binds each address for a moment; another program may still be faster afterwards. */
async function assertAddressesFree(settings: Settings): Promise<void> {
  const { listen, metricsListen, metricsListenGiven } = settings;
  const asked: [string, ListenAddress][] = [['SVC_LISTEN', listen]];
  // Its default may be taken: then the service starts without that listener.
  if (metricsListen !== null && metricsListenGiven)
    asked.push(['SVC_METRICS_LISTEN', metricsListen]);
  const bound: Server[] = [];
  try {
    for (const [name, address] of asked) {
      const server = createServer();
      await listenOn(name, address, async () => {
        server.listen({ ...address });
        await once(server, 'listening');
      });
      bound.push(server);
    }
  } finally {
    await Promise.all(bound.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}
