/**
 * The same path with a real QEMU machine under libvirt as the source, with load on its CPU. Other
 * tests may run beside it: idle it uses a few per cent, and busy at least its share.
 */
import { test } from 'tap';
import { e2eSettings, observedVm, walkAlert } from '../../e2e/path.ts';
import { needs } from '../../support/components.ts';
import { openVmLab } from '../../support/lab/vm-lab.ts';
import { dataFolder, startProgram } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';

test('load inside a virtual machine reaches the webhook', needs('vm-lab'), async (t) => {
  t.setTimeout(840_000);
  const lab = await openVmLab(t);
  await lab.start('web1');
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
      await lab.load('web1', 'burn', 60);
      return () => lab.load('web1', 'rest');
    },
  });
  t.equal(await program.stop(), 0);
});
