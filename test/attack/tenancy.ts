/**
 * Tenancy: one project's credentials, with names of another project's things in every field that
 * names something. No answer contains a word of the other project; existing and missing things
 * cannot be told apart; the other project does not change.
 */
import {
  type Arena,
  attempt,
  displayed,
  getRequest,
  inParallel,
  rpcRequest,
  sendPatiently,
  sourceOf,
} from './arena.ts';
import { cutOff } from './fuzz.ts';
import { problemOf, reasonOf, sentText } from './judge.ts';
import { FOREIGN_HEADERS, foreignPaths, promqlRequests } from './promql-tricks.ts';
import {
  type AttackedMethod,
  enveloped,
  methods,
  requestOf,
  stringLeaves,
  withValue,
} from './requests.ts';
import { stateOf } from './tenant-state.ts';
import { CREDENTIAL_KINDS, type Tenant } from './tenants.ts';
import type { Header, WireAnswer } from './wire.ts';

/** Requests in flight. */
const WIDTH = 12;
/** Longest time in which a busy machine ends a rejected stream, ms; an accepted one stays open. */
const STREAM_MS = 10_000;

export async function attackTenancy(arena: Arena): Promise<void> {
  const before = await stateOf(arena.target, arena.victim);
  await inParallel(methodTries(arena), WIDTH, (one, number) => tryNames(arena, one, number));
  await tryPageTokens(arena);
  await tryPromql(arena);
  await tryPaths(arena);
  await tryIngest(arena);
  const after = await stateOf(arena.target, arena.victim);
  for (const [i, line] of before.entries()) {
    const why = line === after[i] ? undefined : 'something of the other project has changed';
    const name = `state ${line.slice(0, 60)}`;
    arena.tally.record({ name, why, request: line, answer: after[i] ?? '' });
  }
}

/** Fields that name a thing; the sender is free to choose other texts. */
const REFERENCE = /^(name|parent|\w*(?<!display)Names?|setupId|assertion)$/i;
const NOT_A_REFERENCE = new Set(['displayName', 'assertion']);

export interface NameTry {
  readonly method: AttackedMethod;
  readonly path: readonly (string | number)[];
  readonly credential: string;
  readonly headers: readonly Header[];
  /** Name of the other project's thing. */
  readonly theirs: string;
}

function* methodTries({ attacker, victim }: Arena): Generator<NameTry> {
  for (const method of methods) {
    const request = requestOf(method, victim);
    const leaves = stringLeaves(request).filter(({ path }) => {
      const field = path.filter((part) => typeof part === 'string').at(-1) ?? '';
      return REFERENCE.test(field) && !NOT_A_REFERENCE.has(field);
    });
    for (const { path, value } of leaves) {
      for (const credential of CREDENTIAL_KINDS) {
        const headers = attacker.credentials[credential as keyof typeof attacker.credentials];
        yield { method, path, credential, headers, theirs: value };
      }
    }
  }
}

/**
 * Tries the other project's name, a missing one there, and one in a project that does not exist.
 * All must get the same answer.
 */
export async function tryNames(arena: Arena, one: NameTry, number: number): Promise<void> {
  const { victim } = arena;
  const { method, path, credential, theirs } = one;
  const name = `${method.name} ${path.join('.')} as ${credential}`;
  const ask = async (value: string): Promise<WireAnswer> => {
    const body = withValue(requestOf(method, arena.attacker), path, value);
    const request = streamed(method, rpcRequest(arena, method.path, body, one.headers));
    const options = { source: sourceOf(number), ...(method.isStream && { timeoutMs: STREAM_MS }) };
    const answer = await sendPatiently(arena, request, options);
    const why =
      problemOf(method.isStream ? cutOff(answer) : answer, sentText(request), arena.forbidden) ??
      (answer.status === 200 && method.policy.mutation
        ? 'a change that names another project was accepted'
        : undefined);
    const isLimited = answer.status === 429;
    arena.tally.record({
      name: `${name} = ${value}`,
      why,
      isLimited,
      request: sentText(request),
      answer: displayed(answer),
    });
    return answer;
  };
  const real = await ask(theirs);
  const others = [sibling(theirs), theirs.replaceAll(victim.id, sibling(victim.id))];
  for (const other of new Set(others)) {
    if (other === theirs) continue;
    const absent = await ask(other);
    const [seen, unseen] = [faceOf(real, theirs, victim), faceOf(absent, other, victim)];
    const isSame = seen === unseen || real.status === 429 || absent.status === 429;
    const why = isSame ? undefined : 'existing and missing things are answered differently';
    arena.tally.record({
      name: `${name}: ${theirs} against ${other}`,
      why,
      request: unseen,
      answer: seen,
    });
  }
  for (const trick of tricksOf(theirs, arena.attacker.project)) {
    if (credential === 'owner' || credential === 'writeKey') await ask(trick);
  }
}

function streamed(method: AttackedMethod, request: ReturnType<typeof rpcRequest>) {
  if (!method.isStream) return request;
  const headers = request.headers.map(
    ([name, value]): Header =>
      name === 'content-type' ? [name, 'application/connect+json'] : [name, value],
  );
  return { ...request, headers, body: enveloped(String(request.body)) };
}

/** The same with another last letter or digit: well-formed, but not the name of anything. */
export function sibling(name: string): string {
  return name.replace(/[a-z0-9](?=[^a-z0-9]*$)/i, (last) => (last === 'b' ? 'c' : 'b'));
}

/** Other spellings of a name, which two parts of the service might read differently. */
function tricksOf(theirs: string, own: string): string[] {
  const [, project = '', ...rest] = theirs.split('/');
  const tail = rest.join('/');
  return [
    `${own}/../${project}/${tail}`,
    `${own}/${theirs}`,
    `${theirs}/`,
    `/${theirs}`,
    theirs.toUpperCase(),
    theirs.replace('/', '%2F'),
    `${theirs}\u0000`,
    theirs.replaceAll('/', '／'),
    `${own},${theirs}`,
    `${own}\n${theirs}`,
    `projects/*/${tail}`,
    `projects/-/${tail}`,
  ];
}

/** The distinguishing part of a rejection, without the requested name and the request's id. */
function faceOf(answer: WireAnswer, requested: string, { id }: Tenant): string {
  const { status, text } = answer;
  const parts = [requested, ...requested.split('/').slice(-1), id, sibling(id)].sort(
    (a, b) => b.length - a.length,
  );
  const blank = parts.reduce((displayed, part) => displayed.replaceAll(part, '<name>'), text);
  return `${status} ${reasonOf(answer)} ${blank.replaceAll(/"(value|correlation)":"[^"]*",?/g, '')}`;
}

/** Page tokens of the other project, on every list, with every credential. */
async function tryPageTokens(arena: Arena): Promise<void> {
  const { attacker, victim, tally } = arena;
  const lists = methods.filter(({ name }) => name.startsWith('List'));
  const tokens: { readonly of: string; readonly token: string }[] = [];
  for (const method of lists) {
    const body = { ...requestOf(method, victim), pageSize: 1, pageToken: '' };
    const answer = await sendPatiently(
      arena,
      rpcRequest(arena, method.path, body, victim.credentials.owner),
    );
    const token = /"nextPageToken":"([^"]+)"/.exec(answer.text)?.[1];
    if (token !== undefined) tokens.push({ of: method.name, token });
  }
  tally.record({
    name: 'page tokens of the other project',
    why: tokens.length >= 3 ? undefined : `only ${tokens.length}`,
  });
  const tries = lists.flatMap((method) =>
    tokens.flatMap((token) =>
      (['owner', 'writeKey', 'ciToken', 'collectorKey'] as const).map((kind) => ({
        method,
        token,
        kind,
      })),
    ),
  );
  await inParallel(tries, WIDTH, async ({ method, token, kind }, number) => {
    const body = { ...requestOf(method, attacker), pageSize: 2, pageToken: token.token };
    const request = rpcRequest(arena, method.path, body, attacker.credentials[kind]);
    const name = `${method.name} as ${kind} with the page token of ${token.of}`;
    await attempt(arena, name, request, () => undefined, { source: sourceOf(number) });
  });
}

async function tryPromql(arena: Arena): Promise<void> {
  const { attacker, victim } = arena;
  const kinds = ['readKey', 'ciToken'] as const;
  const tries = kinds.flatMap((kind) =>
    promqlRequests(attacker, victim).map((requested) => ({ kind, ...requested })),
  );
  await inParallel(tries, WIDTH, async ({ kind, method, path, form, headers }, number) => {
    const all: Header[] = [...attacker.credentials[kind], ...(headers ?? [])];
    const request =
      form === undefined
        ? getRequest(arena, path, all, method)
        : {
            ...rpcRequest(arena, path, form, []),
            headers: [
              ['host', new URL(arena.target.origin).host],
              ['content-type', 'application/x-www-form-urlencoded'],
              ...all,
            ] as const,
          };
    await attempt(arena, `${method} ${path} ${form ?? ''} as ${kind}`, request, () => undefined, {
      source: sourceOf(number),
    });
  });
}

/** The other project's own paths, with every credential of this one and without any. */
async function tryPaths(arena: Arena): Promise<void> {
  const { attacker, victim } = arena;
  const none: readonly (readonly [string, readonly Header[]])[] = [['nobody', []]];
  const callers = [...none, ...Object.entries(attacker.credentials)];
  const tries = foreignPaths(attacker, victim).flatMap((path) =>
    callers.map(([who, headers]) => ({
      path,
      who,
      headers: [...headers, ...FOREIGN_HEADERS(victim)],
    })),
  );
  await inParallel(tries, WIDTH, async ({ path, who, headers }, number) => {
    const judge = ({ status }: WireAnswer) =>
      status === 200 ? 'a path of the other project was answered' : undefined;
    await attempt(arena, `GET ${path} as ${who}`, getRequest(arena, path, headers), judge, {
      source: sourceOf(number),
    });
  });
}

/** A source that claims to belong to another project or another VM. */
async function tryIngest(arena: Arena): Promise<void> {
  const { attacker, victim } = arena;
  const path = '/svc.ingest.v1.IngestService/WriteSamples';
  const row = (vmName: string, labels: Readonly<Record<string, string>> = {}) => ({
    vmName,
    observedUnixMs: String(Date.now()),
    values: [{ series: 'svc_vm_load1', labels, value: 1 }],
  });
  const own = `${attacker.project}/vms/another`;
  const bodies = [
    { projectName: victim.project, rows: [row(victim.names.Vm)] },
    { projectName: victim.project, rows: [row(own)] },
    { projectName: attacker.project, rows: [row(victim.names.Vm)] },
    { projectName: attacker.project, rows: [row(own), row(victim.names.Vm)] },
    { projectName: '', rows: [row(victim.names.Vm)] },
    { rows: [row(victim.names.Vm)] },
    ...['project', 'vm', 'vm_name', 'datacenter', '__name__', '__project__', 'tenant_id'].map(
      (label) => ({
        projectName: attacker.project,
        rows: [row(own, { [label]: victim.id })],
      }),
    ),
    ...tricksOf(victim.names.Vm, attacker.project).map((name) => ({
      projectName: attacker.project,
      rows: [row(name)],
    })),
  ];
  const kinds = ['collectorKey', 'vmKey', 'writeKey'] as const;
  for (const kind of kinds) {
    for (const [number, body] of bodies.entries()) {
      const request = rpcRequest(arena, path, body, attacker.credentials[kind]);
      // A malformed name rejects only its row; at most the attacker's own row is stored.
      const isForeign = JSON.stringify(body).includes(victim.project);
      const judge = ({ status, text }: WireAnswer) =>
        status === 200 && isForeign && !isAllRejected(text)
          ? 'rows of another project were accepted'
          : undefined;
      await attempt(arena, `WriteSamples ${JSON.stringify(body)} as ${kind}`, request, judge, {
        source: sourceOf(number),
      });
    }
  }
}

/** True if WriteSamples stored nothing. */
function isAllRejected(text: string): boolean {
  const { accepted, rejected } = JSON.parse(text);
  return accepted === '0' && rejected.length > 0;
}
