/**
 * An attack that finds nothing proves nothing: holes planted in a test server are found, each for
 * its own reason, and a server without holes passes. The program itself is attacked by `npm run
 * attack`.
 */
import { createServer, type RequestListener } from 'node:http';
import { type Test, test } from 'tap';
import { Dice } from '../simulation/dice.ts';
import { startCanaries } from './addresses.ts';
import { attempt } from './arena.ts';
import { draftOf, kindsFor } from './corpus.ts';
import { delayProblem, displayedDelays, measureDelays } from './delays.ts';
import { cutOff } from './fuzz.ts';
import { type Forbidden, problemOf } from './judge.ts';
import { memoryVerdict } from './memory.ts';
import { mutated, written } from './mutations.ts';
import { enveloped, methods, requestOf, stringLeaves, withValue } from './requests.ts';
import { hasHeld, reportOf, Tally } from './tally.ts';
import { listen, type Target, Undo } from './target.ts';
import { type NameTry, sibling, tryNames } from './tenancy.ts';
import type { Tenant } from './tenants.ts';
import { bytesOf, Wire, type WireRequest } from './wire.ts';

const REFUSAL = JSON.stringify({ code: 'not_found', message: 'Not found', details: [] });

/** A tenant as the program would have it, without a program. */
function tenant(id: string): Tenant {
  const project = `projects/${id}`;
  const canary = `kanary${id}1f`;
  const thing = (kind: string) => `${project}/${kind}/${canary}-1`;
  const names = {
    Project: project,
    Member: thing('members'),
    Invitation: thing('invitations'),
    Vm: thing('vms'),
    AlertRule: thing('alertRules'),
    Incident: thing('incidents'),
    Destination: thing('destinations'),
    Delivery: thing('deliveries'),
    MaintenanceWindow: thing('maintenanceWindows'),
    ServiceAccount: thing('serviceAccounts'),
    Key: thing('keys'),
    CiVerification: thing('ciVerifications'),
    CiConnection: thing('ciConnections'),
  };
  const credential = [['authorization', `Bearer ${id}`]] as const;
  return {
    id,
    project,
    canary,
    names,
    credentials: {
      owner: credential,
      viewer: credential,
      personalKey: credential,
      readKey: credential,
      writeKey: credential,
      collectorKey: credential,
      vmKey: credential,
      ciToken: credential,
    },
    secrets: { readKey: `svc_sk_of_${id}`, vmKey: `svc_vm_of_${id}` },
    texts: [canary, `secret id of ${id}`],
    ci: { audience: 'a', claims: {} },
  };
}

const [attacker, victim] = [tenant('acme'), tenant('umbra')];
const FORBIDDEN: Forbidden = {
  secrets: ['svc_sk_the_secret'],
  texts: victim.texts,
  paths: ['/data/of/the/service'],
};

async function serve(t: Test, listener: RequestListener): Promise<{ wire: Wire; origin: string }> {
  const undo = new Undo();
  t.teardown(() => undo.all());
  const origin = `http://127.0.0.1:${await listen(undo, createServer(listener), '127.0.0.1')}`;
  const wire = new Wire(origin);
  undo.teardown(() => wire.close());
  return { wire, origin };
}

async function arenaOf(t: Test, listener: RequestListener) {
  const { wire, origin } = await serve(t, listener);
  const tally = new Tally('planted');
  // An attempt needs only the connections and the address of a program.
  const target = { wire, origin } as Target;
  const dice = new Dice(1);
  return { target, attacker, victim, tally, dice, forbidden: FORBIDDEN, isOver: () => false };
}

const GET: WireRequest = { method: 'GET', path: '/', headers: [['host', 'x']] };

test('each planted hole is found for its own reason', async (t) => {
  const json = { 'content-type': 'application/json' };
  const holes: readonly (readonly [string, RequestListener, RegExp])[] = [
    ['a fault', (_, answer) => answer.writeHead(500).end(), /500 is a fault/],
    ['a 503 without a reason', (_, answer) => answer.writeHead(503).end(), /503 is a fault/],
    ['an unknown status', (_, answer) => answer.writeHead(418).end(), /418 is no status/],
    ['broken JSON', (_, answer) => answer.writeHead(200, json).end('{'), /says that it is JSON/],
    ['no envelope', (_, answer) => answer.writeHead(400, json).end('{}'), /has no code/],
    [
      'an unknown reason',
      (_, answer) =>
        answer
          .writeHead(400, json)
          .end(JSON.stringify({ code: 'x', details: [{ debug: { reason: 'OWN' } }] })),
      /not in the catalogue/,
    ],
    ['a stack', (_, answer) => answer.end('x\n    at f (/a/b.ts:3:4)'), /a stack trace/],
    ['a path', (_, answer) => answer.end('in /data/of/the/service'), /a path of this machine/],
    ['a secret', (_, answer) => answer.end('svc_sk_the_secret'), /a secret/],
    ['a canary', (_, answer) => answer.end(`by ${victim.canary}`), /another tenant's/],
    ['one in capitals', (_, answer) => answer.end(victim.canary.toUpperCase()), /a canary of/],
    [
      'one in a header',
      (_, answer) => answer.setHeader('x-a', victim.canary).end(),
      /another tenant's/,
    ],
    ['an id', (_, answer) => answer.end('"secret id of umbra"'), /another tenant's/],
    ['no answer', (request) => request.socket.destroy(), /closed without an answer/],
    ['no HTTP', (request) => request.socket.end('hello there, this is no HTTP'), /not HTTP/],
    ['silence', () => {}, /no complete answer/],
  ];
  for (const [name, listener, why] of holes) {
    const arena = await arenaOf(t, listener);
    await attempt(arena, name, GET, () => undefined, { timeoutMs: 300 });
    const { tries, held, failures } = arena.tally.result();
    t.same({ tries, held }, { tries: 1, held: 0 }, name);
    t.match(failures[0]?.why, why, name);
  }
});

test('correct answers pass', async (t) => {
  const fine: readonly RequestListener[] = [
    (_, answer) => answer.end('fine'),
    (_, answer) => answer.writeHead(404, { 'content-type': 'application/json' }).end(REFUSAL),
    (_, answer) => answer.writeHead(503).end('"reason":"NOT_READY"'),
    (_, answer) => answer.writeHead(204).end(),
    (request, answer) => request.pipe(answer),
  ];
  for (const listener of fine) {
    const arena = await arenaOf(t, listener);
    const sent = { ...GET, method: 'POST', body: `of ${victim.canary} svc_sk_the_secret` };
    await attempt(arena, 'fine', sent, () => undefined);
    t.ok(hasHeld([arena.tally.result()]), JSON.stringify(arena.tally.result().failures));
  }
});

test('a different answer for an existing name of another project is found', async (t) => {
  const method = methods.find(({ name }) => name === 'GetAlertRule');
  if (!method) throw new Error('GetAlertRule is missing');
  const theirs = victim.names.AlertRule;
  const one: NameTry = { method, path: ['name'], credential: 'x', headers: [], theirs };
  const answers = async (listener: (name: string) => [number, string]) => {
    const arena = await arenaOf(t, (request, answer) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        const [status, message] = listener(JSON.parse(body).name);
        answer.writeHead(status, { 'content-type': 'application/json' });
        answer.end(JSON.stringify({ code: 'x', message, details: [] }));
      });
    });
    await tryNames(arena, one, 0);
    return arena.tally.result();
  };
  t.ok(
    hasHeld([await answers((name) => [403, `Nothing of ${name} is yours`])]),
    'an echo is not a leak',
  );
  const bySentence = await answers((name) => [403, name === theirs ? 'Not yours' : 'None']);
  t.match(bySentence.failures, [{ why: /answered differently/ }], 'by the sentence');
  const byStatus = await answers((name) => [name === theirs ? 403 : 404, 'No']);
  t.match(byStatus.failures, [{ why: /answered differently/ }], 'by the status');
});

test('a connection to a canary listener is seen', async (t) => {
  const undo = new Undo();
  t.teardown(() => undo.all());
  const { port, visits } = await startCanaries(undo);
  t.same(visits, []);
  await new Wire(`http://127.0.0.1:${port}`).send(GET);
  await new Wire(`http://127.0.0.2:${port}`).send(GET);
  t.match(visits, [/^127.0.0.1 from 127/, /^127.0.0.2 from 127/]);
});

test('memory that grows in the second half is reported, settled memory is not', async (t) => {
  const readings = (mib: (i: number) => number) =>
    Array.from({ length: 100 }, (_, i) => ({ atMs: i * 1000, bytes: mib(i) * 2 ** 20 }));
  const settled = readings((i) => 300 + 100 * Math.min(i, 40) + 20 * (i % 2));
  t.equal(memoryVerdict(settled, 1e6).why, undefined);
  const leaking = readings((i) => 300 + 4 * i);
  t.match(memoryVerdict(leaking, 1e6).why, /from .* to/);
  t.equal(memoryVerdict(leaking, 1_000).why, undefined, 'too few requests to judge');
});

test('a server that lets a flood delay other projects is found', async (t) => {
  const FLOOD_MS = 2_000;
  const delaysOf = async (keepsRoom: boolean) => {
    const held: (() => void)[] = [];
    let isFlooded = false;
    const { wire } = await serve(t, (request, answer) => {
      const waits = request.url === '/little' && isFlooded && !keepsRoom;
      if (waits) held.push(() => answer.end('1'));
      else answer.end('1');
    });
    const ask = (path: string) => wire.send({ ...GET, path });
    const flood = async (isOver: () => boolean) => {
      isFlooded = true;
      while (!isOver()) await ask('/much');
      isFlooded = false;
      for (const release of held) release();
    };
    const pace = { quietCount: 5, everyMs: 20, floodMs: FLOOD_MS };
    return await measureDelays(() => ask('/little'), flood, pace);
  };
  const last = await delaysOf(false);
  t.match(delayProblem(last, 0), /p99 beside the flood is \d+ ms/);
  t.match(displayedDelays(last), /^quiet p50 .* of 5; beside p50 /);
  const first = await delaysOf(true);
  t.equal(delayProblem(first, 5 * FLOOD_MS), undefined, 'a server that reserves room passes');
});

test('a delay of twice the quiet time plus a slice passes', async (t) => {
  const answer = { status: 200, headers: new Map(), text: '' };
  const timed = (...times: number[]) => times.map((tookMs) => ({ tookMs, answer }));
  const quiet = timed(...Array.from({ length: 99 }, () => 1), 10);
  t.equal(delayProblem({ quiet, beside: timed(502) }, 500), undefined);
  t.match(delayProblem({ quiet, beside: timed(503) }, 500), /503 ms, more than .* 502 ms/);
  const one = [...Array.from({ length: 99 }, () => 1), 9_000];
  t.equal(delayProblem({ quiet, beside: timed(...one) }, 500), undefined, 'one in a hundred');
  t.match(delayProblem({ quiet, beside: timed(...one, 9_000) }, 500), /9000 ms/);
});

test('a report without tries or classes fails, and a failure names its replay', async (t) => {
  t.notOk(hasHeld([]));
  t.notOk(hasHeld([new Tally('nothing').result()]));
  const tally = new Tally('some');
  for (let i = 0; i < 50; i++) tally.record({ name: `try ${i}`, why: `waited ${i} s` });
  const { tries, held, failures } = tally.result();
  t.same({ tries, held, kept: failures.length }, { tries: 50, held: 0, kept: 6 });
  const report = reportOf([tally.result()], 'npm run attack -- --seed 7');
  t.match(report, /some +\| +50 \| +0 \| +50/);
  t.match(report, /to replay: npm run attack -- --seed 7/);
});

test('every method is attacked with a request that its message accepts', async (t) => {
  const { fromJson } = await import('@bufbuild/protobuf');
  for (const method of methods) {
    const request = requestOf(method, attacker);
    t.doesNotThrow(() => fromJson(method.desc.input, request), method.name);
    const names = stringLeaves(request).filter(({ value }) => value.startsWith('projects/'));
    const own = names.every(({ value }) => value.startsWith(attacker.project));
    t.ok(own, `${method.name} names the caller's own things`);
    t.notSame(kindsFor(method), undefined);
  }
  t.same(withValue({ a: [{ b: 'x' }] }, ['a', 0, 'b'], 'y'), { a: [{ b: 'y' }] });
  t.same(withValue({ a: 1, b: 2 }, ['a'], undefined), { b: 2 });
  t.equal(sibling('projects/umbra'), 'projects/umbrb');
  t.equal(enveloped('{}').readUInt32BE(1), 2);
});

test('the same seed makes the same requests', async (t) => {
  const corpus = { host: 'x', origin: 'http://x', tenant: attacker, chaff: victim };
  const shape = (seed: number) =>
    Array.from({ length: 300 }, (_, i) => {
      const dice = new Dice(seed).fork(`request ${i}`);
      const { method, path, headers } = written(mutated(draftOf(corpus, dice), dice));
      // Ids and times of a request differ each time.
      return `${method} ${path.replaceAll(/\d{5,}/g, 'n')} ${headers.length}`;
    });
  t.same(shape(3), shape(3));
  t.notSame(shape(3), shape(4));
});

test('a connection is kept open, and a request after a closed one uses a new one', async (t) => {
  let requests = 0;
  const sockets = new Set<unknown>();
  const { wire } = await serve(t, (request, answer) => {
    requests++;
    sockets.add(request.socket);
    if (requests === 3) answer.setHeader('connection', 'close');
    answer.end(String(requests));
  });
  const texts: string[] = [];
  for (let i = 0; i < 5; i++) texts.push((await wire.send(GET)).text);
  t.same(texts, ['1', '2', '3', '4', '5']);
  t.equal(sockets.size, 2);
  t.match(
    bytesOf({ ...GET, method: 'POST', body: 'ab' }).toString(),
    /content-length: 2\r\n\r\nab$/,
  );
});

test('a stream is judged by what arrives before it is cut off', async (t) => {
  const { wire } = await serve(t, (_, answer) => void answer.writeHead(200).write(victim.canary));
  const answer = cutOff(await wire.send(GET, { timeoutMs: 200 }));
  t.equal(answer.status, 200);
  t.match(problemOf(answer, '', FORBIDDEN), /another tenant's/);
});
