/**
 * Opens every file descriptor that this process may have (start it with a small `ulimit -n`), does
 * the work that argv[2] names, closes them, does it again, and prints both outcomes as JSON.
 */
import { closeSync, openSync } from 'node:fs';
import { runCommand } from '../../actors/telemetry/collectors/command.ts';
import { createFileSystemReader } from '../../actors/telemetry/collectors/host/file-systems.ts';
import { createMailer } from '../../src/platform/mail/mailer.ts';
import { systemClock } from '../../streams/platform/clock.ts';

const mailer = createMailer({ url: 'smtp://127.0.0.1:1', from: 'svc@example.com' });
const mail = {
  to: 'ada@example.com',
  subject: 'Hello',
  text: 'One line\n',
  messageId: '<1@svc.example.com>',
};
const send = (by: typeof mailer) => by.send(mail).catch((fault: Error) => fault.message);
const closed = async () => {
  const other = createMailer({ url: 'smtp://127.0.0.1:1', from: 'svc@example.com' });
  const sending = send(other);
  other.close();
  return sending;
};

const reader = createFileSystemReader({ run: runCommand, clock: systemClock, deadlineMs: 10_000 });
const root = { mountpoint: '/', fstype: 'ext4', remote: false };

const works: Readonly<Record<string, () => Promise<unknown>>> = {
  mail: async () => [await send(mailer), await closed()],
  stat: async () => {
    const { values, faults } = await reader.read([root], new AbortController().signal);
    return { values: values.length, faults };
  },
};
const work = works[process.argv[2] ?? ''];
if (!work) throw new Error('Which work?');

// Opened now, while there are descriptors.
process.stdout.write('');
const held: number[] = [];
try {
  for (;;) held.push(openSync('/dev/null', 'r'));
} catch (error) {
  if ((error as NodeJS.ErrnoException).code !== 'EMFILE') throw error;
}
const without = await work();
for (const descriptor of held) closeSync(descriptor);
process.stdout.write(JSON.stringify({ without, after: await work() }));
mailer.close();
