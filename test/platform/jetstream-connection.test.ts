/** Requests over a connection to NATS, of which some are lost: in the middle of an election. */
import t from 'tap';
import { VirtualClock } from '../../streams/platform/clock.ts';
import { JetStreamConnection } from '../../streams/platform/jetstream/connection.ts';
import { componentPath, needs } from '../support/components.ts';
import { startNatsServer } from '../support/nats-server.ts';
import { dataFolder } from '../support/program.ts';

const nats = 'nats-server 2.15.1';

t.test(
  'what may be asked again is, before the whole time for an answer',
  needs(nats),
  async (t) => {
    const server = await startNatsServer({ program: componentPath(nats), folder: dataFolder(t) });
    t.teardown(() => server.kill());
    const clock = new VirtualClock(0);
    const connection = await JetStreamConnection.open({ url: server.url, clock });
    t.teardown(() => connection.close());
    const ways = {
      ask: <R>(send: () => Promise<R>) => connection.ask(send),
      requestPatiently: <R>(send: () => Promise<R>) =>
        connection.requestPatiently(send, () => false),
    };
    for (const [name, request] of Object.entries(ways)) {
      let sent = 0;
      const lostTwice = () =>
        ++sent < 3 ? new Promise<never>(() => {}) : Promise.resolve('answer');
      const answering = request(lostTwice);
      const passed: number[] = [];
      for (let seconds = 0; seconds < 6; seconds += 0.5) {
        passed.push(sent);
        await clock.advance(500);
        for (let turns = 0; turns < 5; turns++) await new Promise((done) => setImmediate(done));
      }
      t.equal(await answering, 'answer', name);
      const at = (second: number) => passed[second * 2];
      t.same([at(1), at(2)], [1, 2], 'again after 1.5 s');
      t.same([at(4), at(5.5)], [2, 3], 'and after 3 s more');
      t.same(connection.health(), { state: 'available' }, 'a busy server is no fault');
    }
  },
);
