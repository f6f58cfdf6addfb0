/** The exchange of a CI token whose connection breaks: repeated like reads, and never misreported. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { create, toBinary } from '@bufbuild/protobuf';
import { type Test, test } from 'tap';
import { ErrorInfoSchema } from '../../src/gen/svc/options/v1/error_pb.ts';
import { createClient, reasonOf } from '../../src/sdk/index.ts';
import { systemClock } from '../../streams/platform/clock.ts';

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

/** A client of a server that answers one request after the other, over one kept connection. */
async function clientOf(t: Test, answers: readonly Answer[]) {
  let calls = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => answers[calls++]?.(response, request));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { automation } = createClient({
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clock: { ...systemClock, wakeAfter: (_ms, wake) => systemClock.wakeAfter(0, wake) },
  });
  return { automation, calls: () => calls };
}

const json = (status: number, body: object) => (response: ServerResponse) => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
};
const token = json(200, {
  accessToken: 'svc_at_1',
  projectName: 'projects/p',
  expiresInSeconds: 900,
});
const reset: Answer = (_response, request) => void request.socket.resetAndDestroy();

function refusal(reason: string, metadata: Record<string, string>) {
  const info = toBinary(ErrorInfoSchema, create(ErrorInfoSchema, { reason, metadata }));
  const value = Buffer.from(info).toString('base64').replace(/=+$/, '');
  const details = [{ type: ErrorInfoSchema.typeName, value }];
  return json(401, { code: 'unauthenticated', message: 'The token was used', details });
}

test('an exchange over a reset connection is repeated', async (t) => {
  const { automation, calls } = await clientOf(t, [token, reset, token]);
  const exchange = () => automation.exchangeCiToken({ trustName: 'x', assertion: 'y' });
  t.equal((await exchange()).accessToken, 'svc_at_1');
  t.equal((await exchange()).accessToken, 'svc_at_1');
  t.equal(calls(), 3);
});

test('an exchange whose answer was lost reports that, not the used assertion', async (t) => {
  const replayed = refusal('BAD_ASSERTION', { cause: 'REPLAYED' });
  const { automation, calls } = await clientOf(t, [reset, replayed]);
  const failed = await automation.exchangeCiToken({ assertion: 'y' }).catch((error) => error);
  t.equal(reasonOf(failed), undefined);
  t.match(failed.message, /ECONNRESET|socket hang up|aborted/);
  t.equal(calls(), 2);
});

test('a refused exchange is not repeated', async (t) => {
  const replayed = refusal('BAD_ASSERTION', { cause: 'REPLAYED' });
  const { automation, calls } = await clientOf(t, [replayed, token]);
  const failed = await automation.exchangeCiToken({ assertion: 'y' }).catch((error) => error);
  t.equal(reasonOf(failed), 'BAD_ASSERTION');
  t.equal(calls(), 1);
});
