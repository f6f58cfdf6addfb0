/**
 * Rejections by the program as a user sees them: invalid settings, a folder in use, and non-HTTP
 * bytes on its port. None of them ends the program or causes a stack trace.
 */
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { faultLines, faultSettings, readiness } from '../../e2e/fault-injection.ts';
import { dataFolder, type Program, runToEnd, startProgram } from '../../support/program.ts';

test('invalid settings are all rejected at once, with suggestions', async (t) => {
  const { code, text } = await runToEnd(
    ['serve', '--listn', ':1', '--sample-interval-seconds', '0'],
    {
      SVC_DTA: '/tmp',
      SVC_LOG_LEVEL: 'loud',
      SVC_NATS_URL: 'http://user:hunter2@nats.example',
    },
  );
  t.equal(code, 2);
  for (const sentence of [
    'SVC_DTA is not a setting: did you mean SVC_DATA?',
    '--listn is not a flag of svc serve: did you mean --listen?',
    '--sample-interval-seconds must be a whole number from 1 to',
    'SVC_LOG_LEVEL must be one of debug, info, warn, error: "loud" is not',
    'SVC_NATS_URL must be one or more addresses',
  ]) {
    t.ok(text.includes(sentence), sentence);
  }
  t.notMatch(text, /hunter2|^\s+at /m, 'no secret, no stack trace');
  const open = await runToEnd(['serve', '--listen', '0.0.0.0:0'], { SVC_DATA: dataFolder(t) });
  t.match(open, { code: 2, text: /keys would travel in the clear: set SVC_TLS_CERT_FILE/ });
});

test('impossible starts are reported in a sentence, with code 1', async (t) => {
  const folder = dataFolder(t);
  const program = await startProgram(t, folder, faultSettings);
  const port = new URL(program.demo.baseUrl).port;
  const settings = { SVC_LISTEN: '127.0.0.1:0', SVC_METRICS_LISTEN: 'off' };
  const [second, taken, noFolder] = await Promise.all([
    runToEnd(['serve'], { ...settings, SVC_DATA: folder }),
    runToEnd(['serve'], {
      ...settings,
      SVC_DATA: dataFolder(t),
      SVC_LISTEN: `127.0.0.1:${port}`,
    }),
    runToEnd(['serve'], { ...settings, SVC_DATA: join(folder, 'events.db', 'data') }),
  ]);
  t.match(second, { code: 1, text: /is in use by process \d+: stop it, or give this one another/ });
  t.match(taken, { code: 2, text: /is taken by another program: stop it, or choose another port/ });
  t.match(noFolder, {
    code: 1,
    text: /cannot be used: choose a folder that this user may write to/,
  });
  for (const { text } of [second, taken, noFolder]) t.notMatch(text, /^\s+at /m);
  t.equal((await readiness(program)).status, 200, 'the first service is not affected');
  t.equal(await program.stop(), 0);
});

const METHOD = '/svc.ingest.v1.IngestService/WriteSamples';

test('invalid requests never end the program', async (t) => {
  const program = await startProgram(t, dataFolder(t), faultSettings);
  const { collectorKey } = program.demo;
  const head = `POST ${METHOD} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${collectorKey}\r\n`;
  const proto = `${head}content-type: application/proto\r\n`;
  const json = `${head}content-type: application/json\r\n`;
  const answered: [string, RegExp][] = [
    ['\0\x01\x02 nonsense\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', /^HTTP\/1\.1 400 /],
    [`GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
    [
      `GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n${'a: b\r\n'.repeat(15_000)}\r\n`,
      /^HTTP\/1\.1 (431|404) /,
    ],
    ['GET / HTTP/1.1\r\n\r\n', /^HTTP\/1\.1 400 /],
    ['GET /healthz HTTP/9.9\r\nhost: 127.0.0.1\r\n\r\n', /^HTTP\/1\.1 (400|505) /],
    [`${json}transfer-encoding: chunked\r\n\r\nzz\r\nxx\r\n`, /^HTTP\/1\.1 400 |^$/],
    [`${proto}transfer-encoding: chunked\r\n\r\n5\r\nab`, /^$/],
    [`${json}content-length: 5\r\ncontent-length: 6\r\n\r\n{"a":1`, /^HTTP\/1\.1 400 /],
    [`${json}content-length: 999999999999\r\n\r\n{`, /^HTTP\/1\.1 400 /],
    [`${proto}content-length: 4\r\nconnection: close\r\n\r\n\xff\xff\xff\xff`, /^HTTP\/1\.1 400 /],
    [`${json}content-length: 1\r\nconnection: close\r\n\r\n{`, /^HTTP\/1\.1 400 /],
    [`POST ${METHOD} HTT`, /^$/],
    [`${proto}content-length: 400\r\n\r\nhalf`, /^$/],
    [`${proto}content-length: -1\r\n\r\n`, /^HTTP\/1\.1 400 /],
  ];
  for (const [bytes, answer] of answered) {
    const got = await sendRaw(t, program, bytes, { mayBeSilent: answer.test('') });
    t.match(got, answer, JSON.stringify(bytes.replace(collectorKey, 'KEY').slice(0, 90)));
    t.notMatch(got, / 500 |\.ts:\d+/);
  }
  t.equal((await program.get('/healthz')).status, 200);
  t.equal((await readiness(program)).status, 200);
  t.same(faultLines(program), [], 'bad input is not logged as a fault of the service');
  t.equal(await program.stop(), 0, 'none of these connections delays a stop');
});

/**
 * Sends bytes, and resolves with the answer. A service that may be silent, because it waits for
 * more, has a moment; otherwise its answer is awaited.
 */
async function sendRaw(
  t: Test,
  program: Program,
  bytes: string,
  { mayBeSilent }: { readonly mayBeSilent: boolean },
): Promise<string> {
  const socket = connect(Number(new URL(program.demo.baseUrl).port), '127.0.0.1');
  t.teardown(() => socket.destroy());
  let answer = '';
  const headed = new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      answer += chunk.toString('latin1');
      if (answer.includes('\r\n\r\n')) resolve();
    });
  });
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.write(Buffer.from(bytes, 'latin1'));
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const moment = new Promise((resolve) => setTimeout(resolve, 400));
  await Promise.race([closed, headed, ...(mayBeSilent ? [moment] : [])]);
  socket.destroy();
  return answer;
}
