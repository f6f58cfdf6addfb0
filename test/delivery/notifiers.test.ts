/**
 * From rows to the requests of each channel: incidents that fire, recover, fall silent or concern a
 * whole data center, and tests, with real rows under a real host. Then the target of an attempt,
 * which is read when it opens, and the channel that accepts it.
 */
import { fromJsonString } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { type Test, test } from 'tap';
import type { AttemptRequest } from '../../actors/delivery/notifier-port.ts';
import type {
  ProjectView,
  RecordBodies,
  RecordKind,
} from '../../actors/platform/host/host-port.ts';
import type { DeliveryContext } from '../../machines/delivery/delivery.ts';
import { decodeChatBody } from '../../src/delivery/notify/chat/chat-kind.ts';
import { createContents } from '../../src/delivery/notify/contents.ts';
import { decodeLetter } from '../../src/delivery/notify/email/letter.ts';
import { AddressGuard } from '../../src/delivery/notify/http/address-guard.ts';
import { type KindName, notificationKinds, renderers } from '../../src/delivery/notify/kinds.ts';
import { messageOf } from '../../src/delivery/notify/message/message.ts';
import { openNotifier } from '../../src/delivery/notify/notifier.ts';
import {
  renderWebhookBody,
  WEBHOOK_BYTES_MAX,
} from '../../src/delivery/notify/webhook/webhook-body.ts';
import {
  DestinationSchema,
  UpdateDestinationRequestSchema,
} from '../../src/gen/svc/monitoring/v1/destination_pb.ts';
import { WebhookBodySchema } from '../../src/gen/svc/monitoring/v1/webhook_pb.ts';
import { createLog } from '../../src/platform/log.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import { seriesKey } from '../../streams/telemetry/samples/batch.ts';
import { by, freshRequest, PROJECT, START_MS } from '../support/alerting-on-host.ts';
import { names, RUNBOOK_URL } from '../support/messages.ts';
import { openDeliveryWorld } from '../support/scripted-delivery.ts';
import { sealedIn } from '../support/sealed-in-memory.ts';
import { submit } from '../support/submit.ts';
import { tries } from '../support/tries.ts';

const options = { id: 'dlv_1', publicUrl: 'https://svc.example.com', nowMs: START_MS };
const kinds = Object.keys(notificationKinds) as KindName[];

/** A world with one firing incident of the VM `vm-1`, called "Ä <b>", and its delivery. */
async function firing(t: Test) {
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  await world.putInForce({ destinationNames: [hook] });
  const put = <K extends RecordKind>(kind: K, id: string, body: RecordBodies[K]) =>
    submit(world.host, { project: PROJECT, by }, (draft) => draft.putRecord({ kind, id, body }));
  await put('vm', 'vm-1', {
    displayName: 'Ä <b>',
    datacenter: 'DC-1',
    expandedMonitoring: false,
    registeredMs: 0,
  });
  await put('project', PROJECT, { displayName: 'Shop & Co' });
  await world.fire(['vm-1']);
  const view = world.host.view(PROJECT);
  const [delivery] = world.deliveries();
  const [incident] = world.incidents();
  if (!delivery || !incident) throw new Error('Nothing fired');
  /** The incident's record with other facts. */
  const change = (facts: Record<string, unknown>) =>
    put('incident', incident.id, { ...incident, ...facts });
  return { ...world, hook, view, delivery, incident, change };
}

function json(bytes: Uint8Array): { type: string; data: Record<string, unknown> } {
  return JSON.parse(Buffer.from(bytes).toString('utf8'));
}

/** The requests of each channel, as one text without escapes. */
function readable(
  kind: KindName,
  view: ProjectView,
  delivery: DeliveryContext,
  id = options.id,
): string {
  const bytes = renderers[kind](view, delivery, { ...options, id });
  if (kind === 'webhook') return Buffer.from(bytes).toString('utf8');
  if (kind === 'email') return decodeLetter(bytes).text;
  const { full } = decodeChatBody(bytes);
  if (kind === 'teams') return teamsText(JSON.parse(full));
  const text = textsOf(JSON.parse(full)).join('\n');
  if (kind !== 'slack') return text.replaceAll(/\\([!-/:-@[-`{-~])/g, '$1');
  return text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

/** The lines of a card, then the links of its actions. */
function teamsText({ attachments: [{ content }] }: TeamsMessage): string {
  const lines = content.body.map(({ inlines }) => inlines.map(({ text }) => text).join(''));
  return [...lines, ...textsOf(content.actions)].join('\n');
}

interface TeamsMessage {
  readonly attachments: readonly [
    {
      readonly content: {
        readonly body: readonly { readonly inlines: readonly { readonly text: string }[] }[];
        readonly actions: unknown;
      };
    },
  ];
}

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : [];
}

test('EVENT-02: every channel renders a firing incident with its names and times', async (t) => {
  const { view, delivery, incident } = await firing(t);
  for (const kind of kinds) {
    const text = readable(kind, view, delivery);
    for (const wanted of ['CPU is high', 'Ä <b>', `/incidents/${incident.id}`]) {
      t.ok(text.includes(wanted), `${kind}: ${wanted}`);
    }
    if (kind === 'webhook') continue;
    t.ok(text.includes('Firing: Ä <b>: CPU is high'), kind);
    t.ok(text.includes('cpu_utilization_pct above 90 % for 60 s'), kind);
    t.ok(text.includes('95 % at 2026-01-01 00:00:00 UTC'), kind);
    t.ok(text.includes('Shop & Co'), kind);
  }
  t.match(json(renderWebhookBody(view, delivery, options)), {
    type: 'incident.firing',
    data: {
      incidentName: `projects/${PROJECT}/incidents/${incident.id}`,
      destinationName: `projects/${PROJECT}/destinations/${delivery.destination}`,
      vmName: `projects/${PROJECT}/vms/vm-1`,
      vmDisplayName: 'Ä <b>',
      state: 'FIRING',
      value: 95,
      threshold: 90,
      repeatNumber: 0,
    },
  });
  const letter = decodeLetter(renderers.email(view, delivery, options));
  t.ok(letter.chart, 'with the drawing of its window');
});

test('HOOK-27: every message begins with the runbook and has the rule’s labels', async (t) => {
  const url = 'https://runbooks.example.com/cpu?step=1';
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  const labels = { team: 'storage' };
  const runbook = { runbookText: 'Call <storage>.\nThen wait.', runbookUrl: url };
  await world.putInForce({ destinationNames: [hook], labels, ...runbook });
  await world.cpu(20);
  await world.fire(['vm-1']);
  const view = world.host.view(PROJECT);
  const [delivery] = world.deliveries();
  const [incident] = world.incidents();
  if (!delivery) throw new Error('Nothing fired');
  t.match(incident, { ruleLabels: labels, vmDatacenter: 'DC-1', ...runbook });
  for (const event of ['FIRING', 'REPEATED', 'RECOVERED'] as const) {
    const { data } = json(renderWebhookBody(view, { ...delivery, event }, options));
    t.match(data, { ruleLabels: labels, vmDatacenter: 'DC-1', ...runbook });
    for (const kind of kinds.filter((each) => each !== 'webhook')) {
      const text = readable(kind, view, { ...delivery, event });
      const places = ['Call <storage>.', 'cpu_utilization_pct of', 'VM', 'DC-1', 'storage'];
      const found = places.map((place) => text.indexOf(place));
      t.notOk(found.includes(-1), `${kind} ${event}: ${text}`);
      t.ok((found[0] ?? 0) < (found[1] ?? 0), `${kind}: before the event`);
      t.ok(text.includes(url), `${kind}: a link to open`);
    }
  }
});

test('HOOK-28: a message for several incidents names each of them', async (t) => {
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  await world.toDestination(hook, { type: 'groupWaitChanged', groupWaitMs: 30_000, by: 'me' });
  await world.putInForce({ destinationNames: [hook], labels: { team: 'storage' } });
  const vms = Array.from({ length: 120 }, (_, i) => `machine-${i + 100}`);
  await world.cpu(20, vms);
  await world.fire(vms.slice(0, 3));
  const view = world.host.view(PROJECT);
  const group = () => {
    const [delivery, second] = world.deliveries();
    if (!delivery || second) throw new Error('There is not exactly one group');
    return delivery;
  };
  for (const kind of kinds) {
    const text = readable(kind, view, group(), group().id);
    for (const vm of vms.slice(0, 3)) t.ok(text.includes(vm), `${kind}: ${vm}`);
    if (kind === 'webhook') continue;
    const parts = ['Firing: 3 incidents: CPU is high', '95 %, since', 'DC-1', 'storage'];
    for (const part of parts) t.ok(text.includes(part), `${kind}: ${part}`);
  }
  const bodyOf = () => json(renderWebhookBody(view, group(), { ...options, id: group().id })).data;
  const { incidents, vmName } = bodyOf();
  t.match(
    incidents,
    vms.slice(0, 3).map((vm) => ({ vmName: `projects/${PROJECT}/vms/${vm}` })),
  );
  t.equal(vmName, `projects/${PROJECT}/vms/${vms[0]}`, 'the other fields are those of the first');
  await world.fire(vms.slice(3));
  const { incidents: listed, incidentsLeftOut } = bodyOf() as {
    incidents: [];
    incidentsLeftOut: 1;
  };
  t.ok(incidentsLeftOut > 0);
  t.equal(listed.length + incidentsLeftOut, 120, 'it says how many are omitted');
  t.ok(listed.length > 60, `the body is filled: ${listed.length}`);
  for (const kind of kinds) {
    const bytes = renderers[kind](view, group(), { ...options, id: group().id }).length;
    t.ok(bytes < 60_000, `${kind}: ${bytes} bytes`);
  }
});

test('reminders and recoveries are named as such, and a recovery has its time', async (t) => {
  const { view, delivery, change } = await firing(t);
  const repeated = { ...delivery, event: 'REPEATED' as const, occurrence: 3 };
  const recovered = { ...delivery, event: 'RECOVERED' as const };
  t.match(json(renderWebhookBody(view, repeated, options)), {
    type: 'incident.repeated',
    data: { repeatNumber: 3 },
  });
  t.notOk('recoveredUnix' in json(renderWebhookBody(view, repeated, options)).data);
  await change({
    state: 'RECOVERED',
    recoveredMs: START_MS + 600_000,
    value: 20,
    valueMs: START_MS,
  });
  t.match(json(renderWebhookBody(view, recovered, options)), {
    type: 'incident.recovered',
    data: { state: 'RECOVERED', recoveredUnix: String(START_MS / 1000 + 600), value: 20 },
  });
  for (const kind of kinds.filter((each) => each !== 'webhook')) {
    t.match(readable(kind, view, repeated), /Still firing: Ä <b>: CPU/, kind);
    t.match(readable(kind, view, repeated), /Reminder:?\s+3/, kind);
    t.match(readable(kind, view, recovered), /Recovered: Ä <b>: CPU/, kind);
    t.match(readable(kind, view, recovered), /no longer meets the condition after 11 min/, kind);
  }
});

test('an unobserved value is rendered as such, never as zero or as a recovery', async (t) => {
  const { view, delivery, change } = await firing(t);
  const dataMissingReason = 'VM_STOPPED';
  await change({ value: null, valueMs: null, dataMissingSinceMs: START_MS, dataMissingReason });
  const { data } = json(renderWebhookBody(view, delivery, options));
  t.notOk('value' in data || 'valueUnix' in data, 'left out');
  t.match(data, { dataMissingSinceUnix: String(START_MS / 1000), dataMissingReason });
  t.equal(data.state, 'FIRING');
  for (const kind of kinds.filter((each) => each !== 'webhook')) {
    const text = readable(kind, view, delivery);
    t.match(text, /no reading/, kind);
    t.match(text, /missing since 2026-01-01 00:00:00 UTC: the owner stopped the VM/, kind);
  }
});

test('a condition of a whole data center names the data center and no VM', async (t) => {
  const { view, delivery, change } = await firing(t);
  await change({ vm: '', labels: '{datacenter="DC-1"}', datacenter: 'DC-1', heldVmCount: 37 });
  const { data } = json(renderWebhookBody(view, delivery, options));
  t.match(data, { vmName: '', vmDisplayName: '', datacenter: 'DC-1', silentVmCount: 37 });
  for (const kind of kinds.filter((each) => each !== 'webhook')) {
    const text = readable(kind, view, delivery);
    t.match(text, /Firing: DC-1: CPU is high/, kind);
    t.match(text, /Silent VMs:?\s+37/, kind);
    t.notMatch(text, /^VM/m, kind);
  }
});

test('a test message says that it is a test, and reports no event', async (t) => {
  const { view, delivery } = await firing(t);
  const test = { ...delivery, event: 'TEST' as const, incident: '' };
  const body = json(renderWebhookBody(view, test, options));
  t.equal(body.type, 'test');
  t.equal(body.data.incidentName, '');
  for (const absent of ['value', 'threshold', 'startedUnix', 'firedUnix', 'ruleVersion']) {
    t.notOk(absent in body.data, absent);
  }
  t.equal(body.data.url, `${options.publicUrl}/projects/${PROJECT}/deliveries`);
  for (const kind of kinds.filter((each) => each !== 'webhook')) {
    const text = readable(kind, view, test);
    t.match(text, /Test notification/, kind);
    t.match(text, /No alert has fired/, kind);
  }
  t.notOk(decodeLetter(renderers.email(view, test, options)).chart, 'there is nothing to draw');
});

test('HOOK-06: a webhook body has at most 16 KiB with any names and labels, and reports cuts', async (t) => {
  const { view, delivery, incident } = await firing(t);
  const labelled = fc.tuple(names, fc.array(names, { maxLength: 40 }));
  const property = fc.property(labelled, ([name, values]) => {
    const labels = seriesKey(
      '',
      Object.fromEntries(values.map((value, i) => [`label_${i}`, value])),
    );
    const named = { ruleDisplayName: name, datacenter: name, vmDatacenter: name };
    const ruleLabels = { team: name, tier: name };
    const runbook = { runbookText: name, runbookUrl: RUNBOOK_URL };
    const changed = { ...incident, ...named, labels, ruleLabels, ...runbook };
    const records: Record<string, unknown> = { incident: changed, vm: { displayName: name } };
    const seen = { ...view, record: (kind: string) => ({ body: records[kind] }) };
    const bytes = renderWebhookBody(seen as unknown as ProjectView, delivery, options);
    const { data } = fromJsonString(WebhookBodySchema, Buffer.from(bytes).toString('utf8'));
    const all = { ...data?.labels, ...data?.ruleLabels };
    const kept = Object.keys(all).length;
    return (
      bytes.length <= WEBHOOK_BYTES_MAX && kept + (data?.labelsLeftOut ?? 0) === values.length + 2
    );
  });
  t.doesNotThrow(() => fc.assert(property, { numRuns: tries(100) }));
});

test('HOOK-06: a body is rendered once, regardless of later changes', async (t) => {
  const world = await firing(t);
  const kept = new Map<string, Uint8Array>();
  const contents = contentsOf(world, kept);
  const first = await contents.body(world.view, world.delivery, 'dlv_1');
  t.equal(first.isKept, false);
  await contents.keep([{ deliveryId: 'dlv_1', body: first.bytes }]);
  await world.change({ ruleDisplayName: 'Another name' });
  const again = await contents.body(world.view, world.delivery, 'dlv_1');
  t.same([again.isKept, again.digest], [true, first.digest]);
});

test('HOOK-07: an attempt uses the current secrets, two in an overlap, then the new one', async (t) => {
  const world = await firing(t);
  const { clock, destinations, delivery, view } = world;
  const contents = contentsOf(world, new Map());
  const secrets = async () => {
    const target = await contents.target(view, delivery);
    return 'secrets' in target ? (target.secrets ?? []) : [];
  };
  const rotate = (overlapMs: number) =>
    destinations.rotateSecret({
      project: PROJECT,
      by,
      request: freshRequest(),
      id: delivery.destination,
      overlapMs,
    });
  const [first] = await secrets();
  const { webhookSecret: second } = await rotate(60_000);
  t.same(
    await secrets(),
    [second, first],
    'the current one first; the legacy signature uses the last',
  );
  // No timer runs here: a late timer does not lengthen the overlap.
  await clock.advance(60_000);
  t.same(await secrets(), [second]);
  await rotate(60_000);
  const { webhookSecret: last } = await rotate(0);
  t.same(await secrets(), [last], 'immediate: no older one signs');
});

test('every registered kind renders, bounds its attempts, and is a target of the API', async (t) => {
  const { view, delivery, clock } = await firing(t);
  const guard = new AddressGuard({ hosts: [], http: false });
  const exchange = { post: () => Promise.reject(new Error('Nothing is sent')) };
  const metrics = createMetrics({ clock, version: 'test' });
  t.teardown(() => metrics.close());
  const log = createLog({ clock, level: 'info', readable: false, write: () => {} });
  const publicUrl = () => options.publicUrl;
  const server = { smtpUrl: 'smtp://127.0.0.1:9', from: 'svc@example.com' };
  const mail = { ...server, publicUrl, clock, log, metrics };
  for (const [name, kind] of Object.entries(notificationKinds)) {
    t.match(readable(name as KindName, view, delivery), /CPU is high/, name);
    t.ok(kind.limits.attemptMs > 0 && kind.limits.spacingMs >= 0, name);
    const channel = kind.open({ exchange, guard, mail });
    t.ok(channel, `${name} can be sent to`);
    await channel?.close();
    const refusal = kind.refuseUrl?.('https://10.0.0.1/', guard);
    t.equal(refusal === undefined, name === 'email', `${name}: only mail has no URL to check`);
  }
  for (const schema of [DestinationSchema, UpdateDestinationRequestSchema]) {
    const target = schema.oneofs.find((oneof) => oneof.name === 'target');
    const cases = target?.fields.map((field) => field.localName);
    t.same(cases?.toSorted(), kinds.toSorted(), schema.name);
  }
});

test('an attempt for an unconfigured channel fails and is retried', async (t) => {
  const guard = new AddressGuard({ hosts: [], http: false });
  const { clock } = await openDeliveryWorld(t);
  const notifier = openNotifier({ guard, clock });
  const request = {
    deliveryId: 'dlv_1',
    attemptId: 'att_1',
    incident: '',
    event: 'test',
    timestampUnix: 0,
    body: new Uint8Array(),
    deadlineElapsedMs: 10_000,
    target: { kind: 'email', address: 'ada@example.com', unsubscribeUrl: '' },
  } satisfies AttemptRequest;
  const ours = { kind: 'failed', unknown: false, ours: true, error: /not configured/ };
  t.match(await notifier.attempt(request), ours);
  const foreign = { ...request, target: { kind: 'slack' as const, url: 'https://evil.example/' } };
  t.match(await notifier.attempt(foreign), { kind: 'failed', error: /Slack URL.*Fix the URL/ });
  await notifier.close();
});

type World = Awaited<ReturnType<typeof firing>>;

function contentsOf({ clock, sealed }: World, kept: Map<string, Uint8Array>) {
  return createContents({
    clock,
    sealed: sealedIn(sealed),
    bodies: {
      putMissing: async (bodies) => {
        for (const { deliveryId, body } of bodies) kept.set(deliveryId, body);
        return [];
      },
      get: (id) => kept.get(id),
      ids: () => [...kept.keys()],
      delete: async (ids) => {
        for (const id of ids) kept.delete(id);
      },
    },
    publicUrl: () => options.publicUrl,
    renderers,
    unsubscribeUrl: () => 'https://svc.example.com/u',
  });
}

test('a message without its incident is a fault of the service', async (t) => {
  const { view, delivery } = await firing(t);
  const lost = { ...delivery, incident: 'inc_lost' };
  t.throws(() => messageOf(view, lost, options), /has no record/);
  t.throws(() => renderWebhookBody(view, lost, options), /has no record/);
});
