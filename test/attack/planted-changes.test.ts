/**
 * The attack by endless changes detects a service that commits every change. It accepts one that
 * rejects changes and one that answers requests without effect.
 */
import { createServer } from 'node:http';
import { type Test, test } from 'tap';
import { Dice } from '../simulation/dice.ts';
import type { Arena } from './arena.ts';
import { tryKind } from './changes.ts';
import { methods } from './requests.ts';
import { Tally } from './tally.ts';
import { listen, type Target, Undo } from './target.ts';
import type { Tenant } from './tenants.ts';
import { Wire } from './wire.ts';

const REFUSED = JSON.stringify({
  code: 'resource_exhausted',
  message: 'Too many changes',
  details: [{ debug: { reason: 'TOO_MANY_REQUESTS', metadata: { limit: 'changesPerSecond' } } }],
});

/** The verdict on a service that commits this many changes first, and then does this. */
async function verdictOn(t: Test, commits: number, then: 'refuses' | 'answers') {
  const undo = new Undo();
  t.teardown(() => undo.all());
  let decisions = 7;
  const server = createServer((request, response) => {
    request.resume();
    if (request.url === '/metrics') {
      return response.end(`svc_host_events{kind="decisions"} ${decisions}\n`);
    }
    response.setHeader('content-type', 'application/json');
    if (decisions - 7 < commits) decisions++;
    else if (then === 'refuses') {
      return response.writeHead(429, { 'retry-after': '1' }).end(REFUSED);
    }
    return response.end('{}');
  });
  const origin = `http://127.0.0.1:${await listen(undo, server, '127.0.0.1')}`;
  const wire = new Wire(origin);
  undo.teardown(() => wire.close());
  // Calls of one method need only these parts of a program and its tenants.
  const target = { wire, origin } as Target;
  const names: Readonly<Record<string, string>> = { CiVerification: 'a/b' };
  const tenant = {
    id: 'acme',
    project: 'projects/acme',
    names,
    secrets: {},
    credentials: { owner: [], writeKey: [], readKey: [] },
  } as unknown as Tenant;
  const arena: Arena = {
    target,
    attacker: tenant,
    victim: tenant,
    dice: new Dice(1),
    isOver: () => false,
    tally: new Tally('planted'),
    forbidden: { secrets: [], texts: [], paths: [] },
  };
  const method = methods.find(({ name }) => name === 'SaveAlertRule');
  if (!method) throw new Error('SaveAlertRule is missing');
  await tryKind(arena, method);
  return arena.tally.result();
}

test('LIMIT-23: a service that commits every change is detected', async (t) => {
  const { tries, held, failures } = await verdictOn(t, Number.POSITIVE_INFINITY, 'answers');
  t.same({ tries, held }, { tries: 1, held: 0 });
  t.match(failures[0]?.why, /^60 decisions were committed, but only \d+ changes are allowed$/);
});

test('LIMIT-23: a service that rejects changes, or stops committing, passes', async (t) => {
  t.match(await verdictOn(t, 10, 'refuses'), { tries: 1, held: 1 });
  t.match(await verdictOn(t, 10, 'answers'), { tries: 1, held: 1 });
});
