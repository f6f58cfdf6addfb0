/**
 * The same path with a real QEMU machine under libvirt as the source: its CPU is loaded inside it.
 * Other tests may take turns with it: idle it uses a few per cent, and busy at least its share.
 */
import t from 'tap';
import { needs } from '../support/components.ts';
import { dataFolder, startProgram } from '../support/program.ts';
import { startReceiver } from '../support/receiver.ts';
import { openVmLab } from '../support/vm-lab.ts';
import { e2eSettings, observedVm, walkAlert } from './path.ts';

t.test('load inside a virtual machine reaches the webhook', needs('vm-lab'), async (t) => {
  t.setTimeout(150_000);
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
      const burning = lab.run('burn', 'web1', '15');
      return async () => void (await burning);
    },
  });
  t.equal(await program.stop(), 0);
});
