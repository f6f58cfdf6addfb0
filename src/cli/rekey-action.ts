/** `svc admin rekey`: replaces the master key while the service runs. */
import { readFileSync } from 'node:fs';
import { REKEY_PATH, type Rekeyed } from '../admin/rekey-routes.ts';
import type { AdminAction } from './admin-actions.ts';
import { UsageError } from './client/faults.ts';

export const rekeyAction: AdminAction = {
  name: 'rekey',
  summary: 'Replace the master key, and seal all secrets under the new one',
  options: [
    {
      name: 'key-file',
      takes: 'FILE',
      help: 'File with the new key, 32 bytes in base64; default: the service creates one',
    },
    { name: 'continue', help: 'Continue a change that was interrupted, or waited for a key file' },
  ],
  isChange: true,
  path: REKEY_PATH,
  ask(input) {
    const file = input.text('key-file');
    const isContinued = input.isOn('continue');
    if (file !== undefined && isContinued) {
      throw new UsageError('--key-file and --continue exclude each other', 'Use one of them');
    }
    return {
      ...(file !== undefined && { key: keyIn(file) }),
      ...(isContinued && { isContinued: 'true' }),
    };
  },
  render: (answer) => rekeyText(answer as Rekeyed),
};

function keyIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(
      `--key-file cannot be read: ${error instanceof Error ? error.message : String(error)}`,
      'Create it with: (umask 077; head -c 32 /dev/urandom | base64 > FILE)',
    );
  }
}

function rekeyText({ state, sealed, unreadable, waitsFor, keyId, keyFile }: Rekeyed): string {
  if (state === 'none') return `Nothing to continue: the master key is ${keyId}\n`;
  const damaged =
    unreadable === 0
      ? ''
      : `${unreadable} values were damaged before, and neither key opens them\n`;
  if (state === 'changed') {
    return (
      `The master key is ${keyId} now, in ${keyFile}; ${sealed} values were sealed again\n${damaged}` +
      'The old key no longer opens anything of the service. Keep a copy of the new one elsewhere, and the old\n' +
      'one as long as you keep backups that were made under it\n'
    );
  }
  return (
    `Not finished: the old key still opens everything. Put the new key into ${keyFile} of:\n` +
    waitsFor.map((name) => `  ${name}\n`).join('') +
    `Then restart it, or run "svc admin rekey --continue"\n${damaged}`
  );
}
