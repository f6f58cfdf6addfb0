/**
 * Sets up delivery: rules in force, incidents that fire and recover on request, and a deliverer
 * whose endpoint answers from a script.
 */
import { createHash } from 'node:crypto';
import type { Test } from 'tap';
import { decideEdge, submitInParts } from '../../actors/alerting/incident.ts';
import type { AnswerExcerpt, DeliveryContents } from '../../actors/delivery/attempt.ts';
import { type DelivererDeps, delivererPart } from '../../actors/delivery/deliverer.ts';
import type {
  AttemptOutcome,
  AttemptRequest,
  Notifier,
  Target,
} from '../../actors/delivery/notifier-port.ts';
import { urlIdOf } from '../../actors/delivery/sealed-values.ts';
import type { EventOf, ProjectView } from '../../actors/platform/host/host-port.ts';
import type { AlertRuleContext, AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import type { MachineName } from '../../machines/audit/registry.ts';
import type { DestinationContext } from '../../machines/delivery/destination.ts';
import { limitsOf } from '../../src/delivery/notify/kinds.ts';
import { instanceIdOf } from '../../streams/alerting/evaluation/notification-diff.ts';
import { SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { soleOwner } from '../../streams/platform/membership/sole-member.ts';
import { seededRandom } from '../../streams/platform/random.ts';
import type { Edge } from '../../streams/telemetry/entry.ts';
import { by, openAlertingWorld, PROJECT, RULE, type WorldOptions } from './alerting-on-host.ts';
import { submit } from './submit.ts';

export const accepted: AttemptOutcome = { kind: 'accepted', httpStatus: 200 };
export const refused: AttemptOutcome = {
  kind: 'refused',
  httpStatus: 410,
  error: 'Gone',
  pauseDestination: true,
};

export function failed(
  more: Partial<Extract<AttemptOutcome, { kind: 'failed' }>> = {},
): AttemptOutcome {
  return { kind: 'failed', unknown: false, httpStatus: 500, error: 'HTTP 500', ...more };
}

/** Records requests and answers from the script; without an answer it hangs. */
export class ScriptedNotifier implements Notifier {
  readonly requests: AttemptRequest[] = [];
  readonly #hanging = new Map<string, (outcome: AttemptOutcome) => void>();
  answer: (request: AttemptRequest) => AttemptOutcome | undefined = () => accepted;

  attempt(request: AttemptRequest): Promise<AttemptOutcome> {
    this.requests.push(request);
    const outcome = this.answer(request);
    if (outcome) return Promise.resolve(outcome);
    return new Promise((resolve) => this.#hanging.set(request.attemptId, resolve));
  }

  /** Kinds of destinations that the service has no configuration for. */
  readonly missing = new Set<Target['kind']>();

  readonly limitsOf = limitsOf;

  sendsTo(kind: Target['kind']): boolean {
    return !this.missing.has(kind);
  }

  /** Number of attempts on the wire. */
  get hanging(): number {
    return this.#hanging.size;
  }

  /** Ends the oldest attempts on the wire, at most `count` of them. */
  release(outcome: AttemptOutcome, count = Number.POSITIVE_INFINITY): void {
    for (const [attemptId, resolve] of [...this.#hanging].slice(0, count)) {
      this.#hanging.delete(attemptId);
      resolve(outcome);
    }
  }

  /** Requests as `event of vm`. */
  events(): string[] {
    return this.requests.map(({ event, body }) => `${event} of ${bodyOf(body).vm}`);
  }

  async close(): Promise<void> {}
}

interface Body {
  readonly vm: string;
  readonly rendering: number;
}

export function bodyOf(body: Uint8Array): Body {
  return JSON.parse(Buffer.from(body).toString('utf8')) as Body;
}

type DelivererOptions = Partial<
  Pick<DelivererDeps, 'notifier' | 'host' | 'stream' | 'random' | 'ownership' | 'delivers'>
>;

export async function openDeliveryWorld(t: Test, options: WorldOptions = {}) {
  const world = await openAlertingWorld(t, options);
  const notifier = new ScriptedNotifier();
  const bodies = new Map<string, Uint8Array>();
  /** Discarded bodies, one list per call. */
  const discarded: (readonly string[])[] = [];
  /** Number of stored bodies per write. */
  const kept: number[] = [];
  const excerpts: AnswerExcerpt[] = [];
  const outcomes: string[] = [];
  const faults: string[] = [];
  let renderings = 0;
  const contents: DeliveryContents = {
    async body(view, delivery, id) {
      const kept = bodies.get(id);
      const vm = view.instance('alertInstance', delivery.alertInstance)?.context.vm;
      const bytes = kept ?? Buffer.from(JSON.stringify({ vm, rendering: ++renderings }));
      const digest = createHash('sha256').update(bytes).digest('hex');
      return { bytes, digest, isKept: kept !== undefined };
    },
    async keep(rendered) {
      kept.push(rendered.length);
      for (const { deliveryId, body } of rendered) bodies.set(deliveryId, body);
      return [];
    },
    async target(view, { destination, recipient }) {
      const row = view.instance('destination', destination);
      const context = row?.context as unknown as DestinationContext;
      const { kind, secrets } = context;
      if (kind === 'email') return { kind, address: recipient ?? '', unsubscribeUrl: '' };
      const url = world.sealed.get(urlIdOf(destination, context)) ?? '';
      return { kind: 'webhook', url, secrets: secrets.map(({ id }) => world.sealed.get(id) ?? '') };
    },
    stored: () => [...bodies.keys()],
    async discard(ids) {
      discarded.push(ids);
      for (const id of ids) bodies.delete(id);
    },
  };
  /** The deliverer, not started. */
  const delivererOf = (more: DelivererOptions = {}) =>
    delivererPart({
      ...world,
      notifier,
      contents,
      random: seededRandom(7),
      ownership: soleOwner,
      delivers: true,
      ...more,
      keepExcerpts: async (more) => void excerpts.push(...more),
      onFault: (what, error) => void faults.push(`${what}: ${error}`),
      onAttempt: ({ outcome }) => void outcomes.push(outcome.kind),
    });
  const startDeliverer = (more?: DelivererOptions) => {
    const deliverer = delivererOf(more);
    return { deliverer, stop: world.run((signal) => deliverer.run(signal)) };
  };
  const made = {
    notifier,
    bodies,
    kept,
    excerpts,
    discarded,
    contents,
    outcomes,
    delivererOf,
    startDeliverer,
    reportedFaults: () => faults,
  };
  return { ...world, ...made, ...actions(world) };
}

export type DeliveryWorld = Awaited<ReturnType<typeof openDeliveryWorld>>;

/** A world with a rule in force that notifies one destination, with timers and a deliverer. */
export async function delivering(t: Test) {
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  await world.putInForce({ destinationNames: [hook] });
  world.startTimers();
  const started = world.startDeliverer();
  await world.settle();
  return { ...world, ...started, hook };
}

/** The only delivery. */
export function only(world: DeliveryWorld) {
  const [delivery, second] = world.deliveries();
  if (!delivery || second) throw new Error('There is not exactly one delivery');
  return delivery;
}

interface Place {
  readonly project?: string;
  readonly rule?: string;
}

type World = Awaited<ReturnType<typeof openAlertingWorld>>;
type FreeEvent = { type: string } & Readonly<Record<string, unknown>>;

const keyOf = (vm: string, evaluationRevision: number, place: Place) => ({
  project: place.project ?? PROJECT,
  rule: place.rule ?? RULE,
  evaluationRevision,
  vm,
  labels: '',
});

function actions(world: World) {
  const { host, clock } = world;
  /** Sends an event to an instance of the project. */
  const send = <M extends MachineName>(
    machine: M,
    id: string,
    event: FreeEvent,
    project = PROJECT,
  ) =>
    submit(
      host,
      { project, by },
      (draft) => draft.send(machine, id, { ...event, at: draft.at } as EventOf<M>).changed,
    );
  let atMs = clock.now();
  return {
    /** Saves the rule and waits until it is applied. */
    async putInForce(spec: Partial<AlertRuleSpec>, { project = PROJECT, rule = RULE }: Place = {}) {
      await world.saveRule(spec, { project, id: rule });
      await submit(host, { project, by }, (draft) => {
        const { version } = ruleOf(draft, rule);
        draft.send('alertRule', rule, { type: 'applied', at: draft.at, version });
      });
    },
    fire: (vms: readonly string[], place: Place = {}) =>
      decide(world, vms, place, (vm, revision) => ({
        kind: 'fired' as const,
        key: keyOf(vm, revision, place),
        atMs: ++atMs,
        startedMs: clock.now() - 60_000,
        value: 95,
        notify: true,
        run: [{ type: 'breachStarted', eventMs: clock.now() - 60_000 }],
        window: [{ observedMs: clock.now(), value: 95 }],
      })),
    recover: (vms: readonly string[], place: Place = {}) =>
      decide(world, vms, place, (vm, revision) => ({
        kind: 'recovered' as const,
        key: keyOf(vm, revision, place),
        atMs: ++atMs,
        value: 20,
        window: [],
      })),
    /** Sends an event of a person to the instance of a VM. */
    sendAlert: (vm: string, event: FreeEvent) =>
      send('alertInstance', instanceIdOf(keyOf(vm, 1, {})), event),
    /**
     * Creates a mail destination and resolves with its name. Recipients, persons and memberships
     * have these ids. Each address belongs to a member and is confirmed by its holder.
     */
    addMail: (ids: readonly string[], project = PROJECT) => addMail(world, ids, project),
    /** Sets the maximum number of open attempts for each destination of the project. */
    async setCap(attemptCap: number) {
      const rows = host.view(PROJECT).instances('destination', { limit: 9 }).items;
      for (const { instance } of rows) {
        await send('destination', instance, { type: 'attemptCapChanged', attemptCap });
      }
    },
    /** Sends an event to an instance of the project; `_system` for persons. */
    send,
    /** Sends an event to a destination given by its name. */
    toDestination: (name: string, event: FreeEvent) =>
      send('destination', name.slice(name.lastIndexOf('/') + 1), event),
  };
}

async function addMail({ host }: World, ids: readonly string[], project: string): Promise<string> {
  const destination = `dst_mail_${ids.slice(0, 2).join('_')}`;
  for (const id of ids) {
    await submit(host, { project: SYSTEM_PROJECT, by }, (draft) => {
      const person = { at: draft.at, displayName: id, email: `${id}@example.com` };
      draft.start('person', id, { ...person, identity: null });
    });
  }
  await submit(host, { project, by }, (draft) => {
    const { at } = draft;
    const displayed = { urlId: null, urlDigest: '', host: '', lastFour: '', secretId: null };
    const named = { kind: 'email', displayName: 'Mail', ...displayed } as const;
    draft.start('destination', destination, { at, project, ...named });
    for (const id of ids) {
      const address = `${id}@example.com`;
      const member = {
        person: id,
        role: 'VIEWER',
        displayName: id,
        email: address,
        by: 'me',
      } as const;
      draft.start('membership', id, { at, project, ...member });
      const recipient = { destination, membership: id, address, tokenHash: id };
      draft.start('recipient', id, { at, project, ...recipient });
      draft.send('recipient', id, { type: 'verified', at, tokenHash: id });
    }
  });
  return `projects/${project}/destinations/${destination}`;
}

function ruleOf(view: ProjectView, rule: string): AlertRuleContext {
  return view.instance('alertRule', rule)?.context as unknown as AlertRuleContext;
}

/** Decides one edge for each VM, as the evaluator does. */
function decide(
  { host }: World,
  vms: readonly string[],
  { project = PROJECT, rule = RULE }: Place,
  edgeOf: (vm: string, evaluationRevision: number) => Edge,
): Promise<void> {
  return submitInParts(vms, (part) =>
    submit(host, { project, by }, (draft) => {
      const { evaluationRevision } = ruleOf(draft, rule);
      for (const vm of part) decideEdge(draft, edgeOf(vm, evaluationRevision));
    }),
  );
}
