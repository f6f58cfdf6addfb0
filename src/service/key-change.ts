/** Continues a change of the master key that a crash, or a key file that cannot be written, left. */
import type { RoomBase, Storage } from '../platform/room-base.ts';

/**
 * Runs beside the service: values open under both keys until the change is finished. Members of a
 * cluster that have not reported the next key yet are waited for.
 */
export async function continueKeyChange(
  { log, settings }: Pick<RoomBase, 'log' | 'settings'>,
  { secrets, changeMasterKey, member, keyId }: Storage,
  signal: AbortSignal,
): Promise<void> {
  if (!secrets.isKeyChanging()) return;
  const members = () =>
    member.isAlone
      ? []
      : member
          .members()
          .filter(({ status }) => status !== 'gone')
          .map(({ node, keyId: held = null }) => ({ name: node, keyId: held }));
  const part = 'secrets';
  try {
    const { state, waitsFor } = await changeMasterKey({ members, signal });
    if (state === 'waiting') {
      log.warn({ part, waitsFor }, unfinished(settings.masterKeyFile));
    } else log.info({ part, keyId: keyId() }, 'The change of the master key is finished');
  } catch (error) {
    if (signal.aborted) return;
    log.warn({ err: error, part }, unfinished(settings.masterKeyFile));
  }
}

/** Sentence about a change that waits. */
function unfinished(keyFile: string): string {
  return (
    'The change of the master key is not finished, and the old key still opens everything: put the ' +
    `new key into ${keyFile} on each member, and restart it or run "svc admin rekey --continue"`
  );
}
