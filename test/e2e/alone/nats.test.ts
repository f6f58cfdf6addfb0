/** The same path with the streams on real nats-servers of both supported versions. */
import t from 'tap';
import { componentPath, needs } from '../../support/components.ts';
import { startNatsServer } from '../../support/nats-server.ts';
import { dataFolder, startProgram } from '../../support/program.ts';
import { startReceiver } from '../../support/receiver.ts';
import { burnThisHost, e2eSettings, observedVm, walkAlert } from '../path.ts';

for (const version of ['nats-server 2.10.27', 'nats-server 2.15.1'] as const) {
  t.test(`the whole path runs on ${version}`, needs(version), async (t) => {
    t.setTimeout(150_000);
    const server = await startNatsServer({
      program: componentPath(version),
      folder: dataFolder(t),
    });
    t.teardown(() => server.kill());
    const receiver = await startReceiver(t);
    const program = await startProgram(t, dataFolder(t), {
      ...e2eSettings,
      SVC_NATS_URL: server.url,
      SVC_DEMO: 'on',
    });
    const vm = await observedVm(program, () => true);
    await walkAlert(t, { program, receiver, vm, threshold: 90, load: burnThisHost });
    t.equal(await program.stop(), 0);
  });
}
