/**
 * The same path with a real QEMU machine under libvirt as the source: its CPU is loaded inside it.
 * Other tests may take turns with it: idle it uses a few per cent, and busy at least its share.
 */
import t from 'tap';
import { e2eSettings, observedVm, walkAlert } from '../../e2e/path.ts';
import { needs } from '../../support/components.ts';
import { dataFolder, startProgram } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';
import { openVmLab } from '../../support/vm-lab.ts';

/** Ends what the lab's `burn` has started, a loop of the shell; the guest has no pkill. */
const endOfBurning = `for process in /proc/[0-9]*; do
  tr '\\0' ' ' <$process/cmdline | grep -q '^sh -c while' && kill "\${process#/proc/}"
done`;
const inGuest = (script: string): string =>
  JSON.stringify({
    execute: 'guest-exec',
    arguments: { path: '/bin/sh', arg: ['-c', script] },
  });

t.test('load inside a virtual machine reaches the webhook', needs('vm-lab'), async (t) => {
  t.setTimeout(240_000);
  const lab = await openVmLab(t);
  await lab.run('start', 'web1', '1', '128');
  const receiver = await startReceiver(t);
  const program = await startProgram(t, dataFolder(t), {
    ...e2eSettings,
    SVC_COLLECT: 'libvirt',
    SVC_LIBVIRT_URI: lab.uri,
  });
  const vm = await observedVm(program, ({ displayName }) => displayName === 'web1');
  t.equal(vm.state, 'RUNNING');
  await walkAlert(t, {
    program,
    receiver,
    vm,
    threshold: 20,
    load: async () => {
      await lab.run('burn', 'web1', '60');
      return async () => void (await lab.run('qga', 'web1', inGuest(endOfBurning)));
    },
  });
  t.equal(await program.stop(), 0);
});
