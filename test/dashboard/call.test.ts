/**
 * Calls of the dashboard: reads are retried, mutations never automatically; an unknown outcome
 * stays unknown until the same bytes got a definite response. The network is a function, time is
 * virtual.
 */
import { test } from 'tap';
import { type CallPorts, createCaller } from '../../src/dashboard/data/call.ts';
import { createMutation } from '../../src/dashboard/data/mutation.ts';
import { createRequestIds, type RequestIdStore } from '../../src/dashboard/data/request-ids.ts';
import { parseRpcError, RpcError, retryDelayMs } from '../../src/dashboard/data/rpc-error.ts';
import { VirtualClock } from '../../streams/platform/clock.ts';

type Answer = Response | Error;

interface Sent {
  readonly path: string;
  readonly body: string;
  readonly positions: string | null;
}

/** A tab's storage. */
function memory(): RequestIdStore {
  const kept = new Map<string, string>();
  return {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
    key: (i) => [...kept.keys()][i] ?? null,
    get length() {
      return kept.size;
    },
  };
}

/** A caller with scripted responses, and the requests that it sent. */
function callerAnswering(...answers: readonly Answer[]) {
  return callerOfTab(memory(), answers);
}

/** The same in a tab with earlier callers: a reload creates a new caller. */
function callerOfTab(tab: RequestIdStore, answers: readonly Answer[]) {
  const sent: Sent[] = [];
  const events: string[] = [];
  const clock = new VirtualClock(Date.UTC(2026, 10, 23));
  let signIn: () => void = () => undefined;
  const ports: CallPorts = {
    clock,
    fetch: async (path, init) => {
      const positions = new Headers(init.headers).get('svc-sequence');
      sent.push({ path, body: String(init.body), positions });
      const answer = answers[sent.length - 1];
      if (answer === undefined) throw new Error('No answer is left');
      if (answer instanceof Error) throw answer;
      return answer;
    },
    connection: { reached: () => events.push('reached'), lost: () => events.push('lost') },
    session: {
      ended: () => {
        events.push('ended');
        return new Promise((resolve) => {
          signIn = resolve;
        });
      },
      answered: () => undefined,
      identified(name) {
        events.push(`identified ${name}`);
        return name !== 'people/another';
      },
    },
    requestIds: createRequestIds(() => tab),
  };
  return { caller: createCaller(ports), sent, events, clock, signIn: () => signIn() };
}

function ok(body: object, position?: string): Response {
  return Response.json(body, { ...(position && { headers: { 'svc-sequence': position } }) });
}

function refusal(status: number, code: string, reason: string, retryAfter?: string): Response {
  const details = [
    { type: 'svc.options.v1.ErrorInfo', value: '', debug: { reason, metadata: {} } },
  ];
  const headers = retryAfter === undefined ? {} : { 'retry-after': retryAfter };
  return Response.json({ code, message: 'because', details }, { status, headers });
}

/** Lets everything run that waits only for promises. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a read is sent as JSON to the path of its method', async (t) => {
  const { caller, sent } = callerAnswering(ok({ name: 'projects/p', role: 'OWNER' }));
  const project = await caller.read('ProjectService', 'getProject', { name: 'projects/p' });
  t.equal(project.role, 'OWNER');
  t.match(sent[0], {
    path: '/svc.project.v1.ProjectService/GetProject',
    body: '{"name":"projects/p"}',
  });
});

test('a read is retried with growing delays while the service is unreachable', async (t) => {
  const { caller, sent, clock, events } = callerAnswering(
    new TypeError('fetch failed'),
    new TypeError('fetch failed'),
    ok({}),
  );
  const waits: number[] = [];
  const start = clock.now();
  const reading = caller.read(
    'ProjectService',
    'getProject',
    { name: 'projects/p' },
    {
      onRetry: (error, atMs) => waits.push(atMs - start, error.reason === 'NO_CONNECTION' ? 1 : 0),
    },
  );
  await settle();
  t.same(waits, [1_000, 1]);
  await clock.advance(999);
  await settle();
  t.equal(sent.length, 1, 'not before it is due');
  await clock.advance(1);
  await settle();
  await clock.advance(2_000);
  await reading;
  t.equal(sent.length, 3);
  t.same(events, ['lost', 'lost', 'reached']);
});

test('delays between attempts', async (t) => {
  const error = (retryAfterMs?: number): RpcError =>
    new RpcError({ code: 'unavailable', reason: 'NOT_READY', message: '', retryAfterMs });
  const cases = [
    { why: 'the first', attempt: 0, retryAfterMs: undefined, ms: 1_000 },
    { why: 'doubled', attempt: 3, retryAfterMs: undefined, ms: 8_000 },
    { why: 'at most 30 s', attempt: 40, retryAfterMs: undefined, ms: 30_000 },
    { why: 'what the service asks for', attempt: 0, retryAfterMs: 7_000, ms: 7_000 },
    { why: 'never at once', attempt: 0, retryAfterMs: 0, ms: 1_000 },
    { why: 'never for hours', attempt: 0, retryAfterMs: 9_000_000, ms: 30_000 },
  ];
  for (const { why, attempt, retryAfterMs, ms } of cases) {
    t.equal(retryDelayMs(error(retryAfterMs), attempt), ms, why);
  }
});

test('a rejected read is not retried and carries the reason', async (t) => {
  const { caller, sent } = callerAnswering(refusal(404, 'not_found', 'NOT_FOUND'));
  await t.rejects(caller.read('ProjectService', 'getProject', { name: 'x' }), {
    name: 'RpcError',
    reason: 'NOT_FOUND',
    code: 'not_found',
    message: 'because',
  });
  t.equal(sent.length, 1);
});

test('a read waits for a sign-in and is then resent', async (t) => {
  const { caller, sent, events, signIn } = callerAnswering(
    refusal(401, 'unauthenticated', 'CREDENTIAL_EXPIRED'),
    ok({ name: 'projects/p' }),
  );
  const reading = caller.read('ProjectService', 'getProject', { name: 'projects/p' });
  await settle();
  t.same(events, ['reached', 'ended']);
  signIn();
  t.match(await reading, { name: 'projects/p' });
  t.equal(sent.length, 2);
});

test('a change that needed a recent sign-in is sent again only by the same user', async (t) => {
  const tooOld = () => refusal(403, 'permission_denied', 'SIGN_IN_TOO_OLD');
  const change = (caller: ReturnType<typeof callerAnswering>['caller']) =>
    caller.prepare('ProjectService', 'setMemberRole', { name: 'm', role: 'OWNER' });
  const same = callerAnswering(tooOld(), ok({ name: 'people/ada' }), ok({ role: 'OWNER' }));
  await t.rejects(change(same.caller).send(), { name: 'RpcError', reason: 'SIGN_IN_TOO_OLD' });
  t.match(await change(same.caller).send(), { role: 'OWNER' });
  t.ok(same.events.includes('identified people/ada'));
  t.equal(same.sent.length, 3);

  const other = callerAnswering(tooOld(), ok({ name: 'people/another' }));
  await t.rejects(change(other.caller).send(), { name: 'RpcError', reason: 'SIGN_IN_TOO_OLD' });
  await t.rejects(change(other.caller).send(), { code: 'permission_denied' });
  t.equal(other.sent.length, 2, 'the change was not sent');
});

test('an aborted read stops with the reason of the abort', async (t) => {
  const { caller, sent } = callerAnswering(new TypeError('fetch failed'));
  const gone = new AbortController();
  const reading = caller.read('ProjectService', 'getProject', {}, { signal: gone.signal });
  await settle();
  gone.abort();
  await t.rejects(reading, { name: 'AbortError' });
  t.equal(sent.length, 1);
});

test('a request sends each position that no later response includes', async (t) => {
  const { caller, sent } = callerAnswering(ok({}, 'first'), ok({}, 'second'), ok({}));
  for (let i = 0; i < 3; i += 1) await caller.read('ProjectService', 'getSelf', {});
  t.same(
    sent.map(({ positions }) => positions),
    [null, 'first', 'second'],
    'the response to a request that sent a position includes it',
  );
});

test('positions of concurrent calls are all sent', async (t) => {
  const { caller, sent } = callerAnswering(ok({}, 'one'), ok({}, 'two'), ok({}));
  await Promise.all([
    caller.read('ProjectService', 'getSelf', {}),
    caller.read('ProjectService', 'getSelf', {}),
  ]);
  await caller.read('ProjectService', 'getSelf', {});
  t.equal(sent[2]?.positions, 'one,two');
});

test('a mutation whose response is lost is unknown, and is resent with the same bytes', async (t) => {
  const { caller, sent, clock } = callerAnswering(
    new TypeError('fetch failed'),
    refusal(503, 'unavailable', 'NOT_READY'),
    ok({ name: 'projects/p/incidents/i' }),
  );
  const mutation = createMutation((note: string) =>
    caller.prepare('AlertService', 'acknowledgeIncident', {
      name: 'projects/p/incidents/i',
      note,
    }),
  );
  t.equal(await mutation.send('looking'), false);
  t.match(mutation.state.value, { kind: 'unknown', error: { reason: 'NO_CONNECTION' } });
  await clock.advance(60_000);
  await settle();
  t.equal(sent.length, 1, 'never automatically');
  t.equal(await mutation.send('another'), false);
  t.equal(sent.length, 1, 'no other change while the outcome of one is unknown');
  t.equal(await mutation.sendAgain(), false);
  t.equal(mutation.state.value.kind, 'unknown', 'NOT_READY decides nothing');
  t.equal(await mutation.sendAgain(), true);
  t.equal(mutation.state.value.kind, 'done');
  t.equal(new Set(sent.map(({ body }) => body)).size, 1);
  t.match(JSON.parse(sent[0]?.body ?? ''), { requestId: /^[0-9a-f-]{36}$/, note: 'looking' });
});

test('a creation without a response keeps its id across a reload', async (t) => {
  const tab = memory();
  const service = { projectName: 'projects/p', destination: { displayName: 'Pager' } };
  const ids: string[] = [];
  /** A page of the tab sends it once; returns its id. */
  const create = async (answer: Answer, request: typeof service): Promise<string> => {
    const { caller } = callerOfTab(tab, [answer]);
    const { requestId, send } = caller.prepare('AlertService', 'createDestination', request);
    await send().catch(() => undefined);
    ids.push(requestId);
    return requestId;
  };
  const lost = new TypeError('fetch failed');
  const first = await create(lost, service);
  t.equal(await create(refusal(503, 'unavailable', 'NOT_READY'), service), first);
  t.equal(await create(ok({}), service), first, 'the same id until there is a response');
  t.not(await create(lost, service), first, 'this would be a different request');
  const other = { ...service, destination: { displayName: 'Chat' } };
  t.equal(new Set([...ids, await create(lost, other)]).size, 3, 'like any other request');
  const refused = await create(refusal(400, 'failed_precondition', 'INVALID_STATE'), other);
  t.not(await create(lost, other), refused, 'a rejected request is finished');
  t.notOk(
    [...Array(tab.length).keys()].some((i) => tab.getItem(tab.key(i) ?? '')?.includes('Chat')),
  );

  const { caller } = callerOfTab(tab, [lost, ok({})]);
  const acknowledge = () => caller.prepare('AlertService', 'acknowledgeIncident', { name: 'i' });
  const one = acknowledge();
  await t.rejects(one.send());
  t.not(
    acknowledge().requestId,
    one.requestId,
    'repeating a completed change creates nothing twice',
  );
});

test('a rejected mutation has a known outcome, and the next one has a new id', async (t) => {
  const { caller, sent } = callerAnswering(
    refusal(400, 'failed_precondition', 'INVALID_STATE'),
    ok({}),
  );
  const mutation = createMutation(() =>
    caller.prepare('AlertService', 'acknowledgeIncident', { name: 'i' }),
  );
  t.equal(await mutation.send(undefined), false);
  t.match(mutation.state.value, { kind: 'refused', error: { reason: 'INVALID_STATE' } });
  t.equal(await mutation.sendAgain(), false, 'nothing is left to send');
  t.equal(await mutation.send(undefined), true);
  const ids = sent.map(({ body }) => JSON.parse(body).requestId);
  t.not(ids[0], ids[1]);
});

test('a mutation of a signed-out user opens the dialog and keeps its bytes', async (t) => {
  const { caller, sent, events } = callerAnswering(
    refusal(401, 'unauthenticated', 'CREDENTIAL_REVOKED'),
    ok({}),
  );
  const mutation = createMutation(() =>
    caller.prepare('AlertService', 'acknowledgeIncident', { name: 'i' }),
  );
  t.equal(await mutation.send(undefined), false);
  t.equal(mutation.state.value.kind, 'unknown');
  t.ok(events.includes('ended'));
  t.equal(sent.length, 1, 'the user sends it, not the sign-in');
  t.equal(await mutation.sendAgain(), true);
});

test('errors without a reason from the service', async (t) => {
  const cases = [
    { why: 'a page of a proxy', body: 'Bad gateway', reason: 'BAD_ANSWER' },
    { why: 'nothing', body: null, reason: 'BAD_ANSWER' },
    { why: 'a fault of the service', body: { code: 'internal' }, reason: 'INTERNAL' },
  ];
  for (const { why, body, reason } of cases) {
    const error = parseRpcError(body, null);
    t.match(error, { reason, isDefinite: false }, why);
  }
});
