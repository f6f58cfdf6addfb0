/** `svc admin restore-events` on a member that applies commits in the middle of the command. */
import { join } from 'node:path';
import { test } from 'tap';
import { storedPosition } from '../../sqlite/platform/backup/control-snapshot.ts';
import { restoreEvents } from '../../src/admin/restore-events.ts';
import { systemClock } from '../../streams/platform/clock.ts';
import { EVENTS_STREAM } from '../../streams/platform/commit/events.ts';
import { openJetStream } from '../../streams/platform/jetstream/jetstream-stream.ts';
import type { Stream } from '../../streams/platform/stream.ts';
import { needs } from '../support/components.ts';
import { natsServerFor } from '../support/nats-server.ts';
import { dataFolder, until } from '../support/program.ts';
import { startService } from '../support/service-in-process.ts';

test(
  'DUR-32: commits that arrive after another member has recreated EVENTS are not reported as damage',
  needs('nats-server 2.15.1'),
  async (t) => {
    const server = await natsServerFor(t);
    const folder = dataFolder(t);
    const service = await startService(t, folder, { SVC_DEMO: 'on', SVC_NATS_URL: server.url });
    const real = await openJetStream({ url: server.url, clock: systemClock });
    t.teardown(() => real.close());
    const controlPath = join(folder, 'control.db');
    const applied = () => storedPosition(controlPath)?.applied ?? 0;

    let isMissing = true;
    // EVENTS is missing at the first look. Then another member makes it, and this one continues.
    const compare: Stream['compare'] = async (spec) => {
      if (spec.name !== EVENTS_STREAM || !isMissing) return real.compare(spec);
      isMissing = false;
      const before = applied();
      const { status } = await service.call('monitoring.v1.AlertService/CreateDestination', {
        projectName: service.demo.projectName,
        requestId: crypto.randomUUID(),
        destination: { displayName: 'Pager', webhook: { url: 'https://example.com/hook' } },
      });
      t.equal(status, 200);
      await until('the commit is applied', () => applied() > before || undefined);
      return undefined;
    };
    const stream = new Proxy(real, {
      get(target, name) {
        if (name === 'compare') return compare;
        const value = Reflect.get(target, name) as unknown;
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    const snapshot = () => Promise.resolve('superseded' as const);
    const deps = { stream, controlPath, clock: systemClock, self: {}, snapshot };
    const { isNew, commits } = await restoreEvents(
      deps,
      { isFurthest: false },
      new AbortController().signal,
    );
    t.notOk(isNew);
    t.ok(commits > 0, 'the chain is verified');
  },
);
