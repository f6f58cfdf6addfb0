/**
 * Valid requests as the base of mutations: every method as JSON and as binary protobuf, with a
 * credential that may call it, and every plain HTTP route. Requests that end or remove something
 * act on a tenant of their own, so that the others stay intact.
 */
import { fromJson, toBinary } from '@bufbuild/protobuf';
import { Policy_Access } from '../../src/gen/svc/options/v1/policy_pb.ts';
import type { Dice } from '../simulation/dice.ts';
import { Dice as ExpressionDice } from '../telemetry/promql/fuzz/dice.ts';
import { generateExpression } from '../telemetry/promql/fuzz/expression.ts';
import { textOf } from '../telemetry/promql/fuzz/piece.ts';
import { type Draft, spoilt } from './mutations.ts';
import { type AttackedMethod, enveloped, methods, requestOf } from './requests.ts';
import type { CredentialKind, Tenant } from './tenants.ts';
import type { Header } from './wire.ts';

export interface Corpus {
  readonly host: string;
  readonly origin: string;
  /** The caller's tenant. */
  readonly tenant: Tenant;
  /** The tenant whose things are ended, also as the caller. */
  readonly chaff: Tenant;
}

const ENDS_SOMETHING =
  /^(Delete|Disable|Remove|Revoke|SignOut|Reject|SetMember|Unenrol|Retire|Pause|Rotate|Update|Approve|Enable)/;
/**
 * Each try of these costs an account, key or VM, so there are fewer of them: the memory figure
 * should be about requests.
 */
const MAKES_SOMETHING = /^(Create|Invite|EnrolVm|StartCi|SaveAlertRule)/;
const MAKES_SHARE = 0.2;

export function draftOf(corpus: Corpus, dice: Dice): Draft {
  const roll = dice.roll();
  if (roll < 0.72) return rpcDraft(corpus, dice);
  if (roll < 0.9) return promqlDraft(corpus, dice);
  return plainDraft(corpus, dice);
}

function rpcDraft(corpus: Corpus, dice: Dice): Draft {
  let method = dice.pick(methods);
  if (MAKES_SOMETHING.test(method.name) && !dice.chance(MAKES_SHARE)) method = dice.pick(methods);
  const tenant = ENDS_SOMETHING.test(method.name) ? corpus.chaff : corpus.tenant;
  const json = requestOf(method, tenant);
  const kinds = kindsFor(method);
  // A caller that signs out loses its session.
  const kind =
    method.name === 'SignOutEverywhere' ? 'viewer' : kinds.length > 0 && dice.pick(kinds);
  const credential = kind === false ? [] : tenant.credentials[kind];
  const headers: Header[] = [['host', corpus.host], ...credential];
  const draft = { method: 'POST', path: method.path };
  if (method.isStream) {
    const body = enveloped(JSON.stringify(json));
    return { ...draft, body, headers: [...headers, ['content-type', 'application/connect+json']] };
  }
  if (dice.chance(method.name === 'WriteSamples' ? 0.4 : 0.1)) {
    const message = fromJson(method.desc.input, json, { ignoreUnknownFields: true });
    const body = Buffer.from(toBinary(method.desc.input, message));
    return { ...draft, body, headers: [...headers, ['content-type', 'application/proto']] };
  }
  const version: Header[] = dice.chance(0.5) ? [['connect-protocol-version', '1']] : [];
  return {
    ...draft,
    json,
    headers: [...headers, ['content-type', 'application/json'], ...version],
  };
}

/** Credentials that a method accepts. */
export function kindsFor({ policy }: AttackedMethod): readonly CredentialKind[] {
  switch (policy.access) {
    case Policy_Access.READ:
      return ['readKey', 'writeKey', 'personalKey', 'ciToken', 'owner', 'viewer'];
    case Policy_Access.WRITE:
      return ['writeKey', 'personalKey', 'owner'];
    case Policy_Access.ANY:
      return ['readKey', 'ciToken', 'owner', 'collectorKey'];
    case Policy_Access.COLLECTOR:
      return ['collectorKey', 'vmKey'];
    case Policy_Access.HUMAN:
      return ['owner'];
    default:
      return [];
  }
}

const READ_PATHS = [
  'query',
  'query_range',
  'series',
  'labels',
  'format_query',
  'parse_query',
  'query_exemplars',
  'label/vm/values',
  'metadata',
];

function promqlDraft({ host, tenant }: Corpus, dice: Dice): Draft {
  const path = `/v1/monitoring/projects/${tenant.id}/promql/api/v1/${dice.pick(READ_PATHS)}`;
  const now = Math.floor(Date.now() / 1000);
  const step = dice.pick(['30', '60', '5m', '300', '29', '0', 'x']);
  const expression = expressionOf(dice);
  const parameters = new URLSearchParams({
    query: expression,
    start: String(now - 1800),
    end: String(now),
    step,
  });
  if (dice.chance(0.3)) parameters.append('match[]', expression);
  if (dice.chance(0.1))
    parameters.set('time', dice.pick(['0', '-1', 'NaN', '1e18', '2026-01-01T00:00:00Z']));
  const headers: Header[] = [
    ['host', host],
    ...tenant.credentials[dice.pick(['readKey', 'ciToken', 'owner'] as const)],
  ];
  if (dice.chance(0.5)) return { method: 'GET', path: `${path}?${parameters}`, headers };
  const form: Header = ['content-type', 'application/x-www-form-urlencoded'];
  return {
    method: 'POST',
    path,
    headers: [...headers, form],
    body: Buffer.from(parameters.toString()),
  };
}

const OWN_METRICS = ['svc_vm_cpu_utilization_pct', 'svc_vm_load1', 'up', '{__name__=~".+"}'];
const GENERATED = /\b(gauge|cpu_total|other|info|sparse|latency_bucket|odd_bucket)\b/g;

/** By the grammar, over existing series; every third has a few letters changed. */
function expressionOf(dice: Dice): string {
  const piece = generateExpression(new ExpressionDice(dice.below(2 ** 31)));
  let text = textOf(piece).replaceAll(GENERATED, () => dice.pick(OWN_METRICS.slice(0, 3)));
  if (dice.chance(0.05)) text = `${'('.repeat(dice.below(300))}${text}`;
  if (dice.chance(0.05))
    text = Array.from({ length: dice.below(40) }, () => dice.pick(OWN_METRICS)).join(' or ');
  const changes = dice.chance(0.3) ? 1 + dice.below(3) : 0;
  for (let i = 0; i < changes; i++) text = spoilt(text, dice);
  return text.toWellFormed();
}

const PLAIN = [
  '/',
  '/healthz',
  '/readyz',
  '/-/healthy',
  '/-/ready',
  '/metrics',
  '/.well-known/jwks.json',
  '/favicon.ico',
  '/auth/sign-in',
  '/auth/login',
  '/auth/signed-in',
  '/auth/link',
  '/auth/callback?code=x&state=y',
  '/auth/callback?error=x',
  '/auth/cli?port=5000&state=0123456789abcdef&challenge=0123456789012345678901234567890123456789012',
  '/v1/recipients/verify',
  '/v1/recipients/unsubscribe?code=x',
  '/api/v1/query?query=1',
  '/federate',
  '/debug/pprof',
];
const FORMS = [
  '/auth/link',
  '/auth/email',
  '/auth/logout',
  '/auth/cli',
  '/v1/recipients/verify',
  '/v1/recipients/unsubscribe?code=x',
];

function plainDraft({ host, origin, tenant, chaff }: Corpus, dice: Dice): Draft {
  const project = `/v1/monitoring/projects/${tenant.id}`;
  const roll = dice.below(4);
  if (roll === 0) {
    const path = dice.pick([
      `${project}/scrape-targets`,
      `${project}/export?shard=0`,
      `${project}/promql/-/ready`,
    ]);
    return { method: 'GET', path, headers: [['host', host], ...tenant.credentials.readKey] };
  }
  if (roll < 3) return { method: 'GET', path: dice.pick(PLAIN), headers: [['host', host]] };
  const headers: Header[] = [
    ['host', host],
    ['origin', origin],
    ...chaff.credentials.viewer.slice(0, 1),
  ];
  const fields = {
    token: 'svc_link_x',
    email: 'someone@example.test',
    port: '5000',
    state: '0123456789abcdef',
  };
  if (dice.chance(0.5)) {
    return {
      method: 'POST',
      path: dice.pick(FORMS),
      json: fields,
      headers: [...headers, ['content-type', 'application/json']],
    };
  }
  const body = Buffer.from(new URLSearchParams(fields).toString());
  const type: Header = ['content-type', 'application/x-www-form-urlencoded'];
  return { method: 'POST', path: dice.pick(FORMS), body, headers: [...headers, type] };
}
