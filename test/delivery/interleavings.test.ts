/**
 * User actions during sending, in any order: everything acknowledged before an attempt is opened
 * applies to it (STATE-12, EVAL-20 to EVAL-22). The order is that of the commits, and this test
 * derives the valid state from their steps alone. A process that dies at any moment loses nothing,
 * and repeats only attempts in flight.
 */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { test } from 'tap';
import type { AlertInstanceContext } from '../../machines/alerting/alert-instance.ts';
import type { DeliveryContext } from '../../machines/delivery/delivery.ts';
import { type Commit, SYSTEM_PROJECT } from '../../streams/platform/commit/commit.ts';
import { RULE } from '../support/alerting-on-host.ts';
import {
  accepted,
  type DeliveryWorld,
  failed,
  openDeliveryWorld,
} from '../support/scripted-delivery.ts';
import { occurrences, tries } from '../support/tries.ts';

const VMS = ['vm-1', 'vm-2'];
const PEOPLE = ['ann', 'ben'];

/** The state by the commits so far, and later violations of it. */
class Watch {
  readonly wrong: string[] = [];
  opened = 0;
  readonly #values = new Map<string, string>();
  readonly #incidents = new Map<string, AlertInstanceContext['incident']>();
  /** Attempts that reported a firing, by delivery, recipient and incident. */
  readonly #firings = new Map<string, Map<string, DeliveryContext['attempts']>>();
  #destinationNames: readonly string[] = [];

  take({ decisions }: Commit): void {
    for (const { machine, instance, to, context } of decisions.flatMap(({ steps }) => steps)) {
      if (machine === 'alertInstance') {
        this.#incidents.set(instance, (context as unknown as AlertInstanceContext).incident);
      }
      if (machine === 'alertRule') {
        const { spec } = context as { spec: { destinationNames: string[] } };
        this.#destinationNames = spec.destinationNames;
      }
      if (machine === 'delivery') {
        const delivery = context as unknown as DeliveryContext;
        this.#recordFiring(instance, delivery);
        if (to === 'sending') this.#opens(delivery);
      }
      if (typeof to === 'string') this.#values.set(`${machine} ${instance}`, to);
    }
  }

  isActive(person: string): boolean {
    return this.#values.get(`person ${person}`) === 'active';
  }

  #recordFiring(id: string, context: DeliveryContext): void {
    if (context.event !== 'FIRING' && context.event !== 'REPEATED') return;
    const audience = audienceOf(context);
    const firings = this.#firings.get(audience) ?? new Map();
    this.#firings.set(audience, firings.set(id, context.attempts));
  }

  /** True if it was accepted, may have been accepted, or is in flight. */
  #mayKnow(context: DeliveryContext): boolean {
    const attempts = [...(this.#firings.get(audienceOf(context))?.values() ?? [])].flat();
    return attempts.some(({ outcome }) => outcome !== 'failed' && outcome !== 'refused');
  }

  #opens(context: DeliveryContext): void {
    const { event, incident, alertInstance, destination, recipient } = context;
    this.opened++;
    const current = this.#incidents.get(alertInstance);
    const isTrue = (what: string, holds: boolean) => {
      if (!holds) this.wrong.push(`${event} to ${recipient ?? destination}: ${what}`);
    };
    if (event === 'RECOVERED') isTrue('none was notified of the firing', this.#mayKnow(context));
    isTrue('paused or deleted', this.#values.get(`destination ${destination}`) === 'active');
    if (recipient !== null) {
      isTrue('not verified', this.#values.get(`recipient ${recipient}`) === 'verified');
      isTrue('no member', this.#values.get(`membership ${recipient}`) === 'active');
    }
    if (event === 'RECOVERED') return;
    isTrue('another incident', current?.id === incident);
    isTrue('recovered', current?.recoveredMs === null);
    isTrue('retired', current?.retiredMs === null);
    isTrue('snoozed', current?.snoozedUntilMs === null);
    isTrue(
      'not named',
      this.#destinationNames.some((name) => name.endsWith(destination)),
    );
    isTrue('rule', this.#values.get(`alertRule ${RULE}`) === 'active');
  }
}

function audienceOf({ incident, destination, recipient }: DeliveryContext): string {
  return [incident, destination, recipient].join();
}

type Action = (world: DeliveryWorld & { hook: string; mail: string }) => Promise<unknown>;

const actions: Readonly<Record<string, Action>> = {
  fire: ({ fire }) => fire(VMS),
  recover: ({ recover }) => recover(VMS),
  snooze: ({ sendAlert, clock }) =>
    sendAlert('vm-1', { type: 'snoozed', untilMs: clock.now() + 40_000, by: 'me' }),
  'pause the hook': ({ toDestination, hook }) =>
    toDestination(hook, { type: 'paused', reason: 'x', by: 'me' }),
  'resume the hook': ({ toDestination, hook }) =>
    toDestination(hook, { type: 'resumed', by: 'me' }),
  'delete the hook': ({ toDestination, hook }) =>
    toDestination(hook, { type: 'deleted', by: 'me' }),
  'remove ann': ({ send }) => send('recipient', 'ann', { type: 'removed', reason: 'TAKEN_OFF' }),
  'ben unsubscribes': ({ send }) => send('recipient', 'ben', { type: 'unsubscribed' }),
  'ben leaves': ({ send }) =>
    send('membership', 'ben', { type: 'removed', reason: 'LEFT', by: 'me' }),
  'lock ann out': ({ send }) =>
    send('person', 'ann', { type: 'disabled', reason: 'x', by: 'me' }, SYSTEM_PROJECT),
  'take mail off the rule': ({ putInForce, hook }) => putInForce({ destinationNames: [hook] }),
  'edit the rule': ({ putInForce, hook, mail }) =>
    putInForce({ threshold: 80, destinationNames: [hook, mail] }),
};

const OTHERS = ['turns', 'seconds', 'release', 'fail', 'lose', 'fire'];

const step = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...Object.keys(actions)) },
  { weight: 3, arbitrary: fc.constantFrom(...OTHERS) },
);

/** The second firing arrives while the first is in flight, where it fails. */
const FIRES_AGAIN = [
  'turns',
  'turns',
  'recover',
  'fire',
  'fail',
  'fail',
  'turns',
  'seconds',
  'release',
  'release',
  'turns',
  'release',
  'turns',
  'release',
  'seconds',
];

async function runStep(
  world: DeliveryWorld & { hook: string; mail: string },
  name: string,
): Promise<void> {
  if (name === 'turns') return world.settle(5);
  if (name === 'seconds') return world.pass(20_000, 5_000);
  if (name === 'release') return world.notifier.release(accepted, 2);
  if (name === 'fail') return world.notifier.release(failed(), 2);
  if (name === 'lose') return world.notifier.release(failed({ unknown: true }), 2);
  // An action that the state does not allow, such as one on a deleted resource, changes nothing.
  await actions[name]?.(world).catch(() => {});
}

test('EVAL-22, HOOK-11: no attempt is opened once the end of its reason is acknowledged', async (t) => {
  let opened = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 30 }), async (steps) => {
      await t.test(steps.join(', '), async (t) => {
        const base = await openDeliveryWorld(t);
        const watch = new Watch();
        base.host.onApplied(({ commit }) => watch.take(commit));
        const hook = await base.addDestination();
        const mail = await base.addMail(PEOPLE);
        const world = { ...base, hook, mail };
        await world.putInForce({ destinationNames: [hook, mail], repeatIntervalSeconds: 60 });
        // Users belong to no project: they may end between a decision and its commit, but not
        // between that and the send.
        world.notifier.answer = ({ target }) => {
          const person = 'address' in target ? target.address : undefined;
          if (person !== undefined && !watch.isActive(person))
            watch.wrong.push('sent to a locked-out user');
          return undefined;
        };
        world.startTimers();
        const { stop } = world.startDeliverer();
        for (const name of ['fire', ...steps]) await runStep(world, name);
        world.notifier.answer = () => accepted;
        world.notifier.release(accepted);
        await world.pass(10_000, 5_000);
        await stop();
        opened += watch.opened;
        t.same(watch.wrong, []);
      });
      return true;
    }),
    { numRuns: tries(60), examples: [[FIRES_AGAIN]] },
  );
  t.ok(opened > occurrences(80), `${opened} attempts were opened`);
});

test('EVENT-03: a killed process loses nothing and repeats only messages in flight', async (t) => {
  for (const turns of [0, 3, 8, 20, 45]) {
    const before = await openDeliveryWorld(t);
    const hooks = [await before.addDestination(), await before.addDestination()];
    await before.putInForce({ destinationNames: hooks });
    before.startDeliverer();
    const vms = Array.from({ length: 40 }, (_, i) => `vm-${i}`);
    let requested = 0;
    before.notifier.answer = () => (++requested % 5 === 0 ? undefined : accepted);
    await before.fire(vms);
    await before.settle(turns);
    // The state after a kill: the files as they are now.
    const folder = mkdtempSync(join(dirname(before.folder), 'svc-killed-'));
    cpSync(before.folder, folder, { recursive: true });
    const received = before.notifier.requests.map(({ deliveryId }) => deliveryId);
    const flying = new Set(
      before
        .deliveries()
        .filter(isSending)
        .map(({ id }) => id),
    );
    const [bodies, sealed] = [new Map(before.bodies), new Map(before.sealed)];
    t.teardown(() => {
      before.notifier.answer = () => accepted;
      before.notifier.release(accepted);
      rmSync(folder, { recursive: true });
    });
    const after = await openDeliveryWorld(t, { folder, clock: before.clock });
    for (const [id, body] of bodies) after.bodies.set(id, body);
    for (const [id, value] of sealed) after.sealed.set(id, value);
    after.startTimers();
    after.startDeliverer();
    await after.pass(60_000, 1_000);
    t.equal(after.deliveries().length, 80);
    t.ok(
      after.deliveries().every(({ value }) => value === 'sent'),
      'lost: none',
    );
    const again = after.notifier.requests.map(({ deliveryId }) => deliveryId);
    const doubled = again.filter((id) => received.includes(id));
    t.ok(
      doubled.every((id) => flying.has(id)),
      `doubled: ${doubled.length} of ${flying.size}`,
    );
    t.equal(new Set(again).size, again.length);
    const once = new Set([...received, ...again]);
    t.equal(once.size, 80, 'each was received');
  }
});

const isSending = ({ value }: { value: unknown }): boolean => value === 'sending';

test('DUR-15: nothing is sent if the recipient is locked out between decision and commit', async (t) => {
  const world = await openDeliveryWorld(t);
  await world.putInForce({ destinationNames: [await world.addMail(['ann'])] });
  world.startTimers();
  const lockOut = () =>
    world.send('person', 'ann', { type: 'disabled', reason: 'x', by: 'me' }, SYSTEM_PROJECT);
  const host = {
    ...world.host,
    async submit(submission: Parameters<typeof world.host.submit>[0]) {
      const committed = await world.host.submit(submission);
      // As if it had been acknowledged while the attempt's commit was in progress.
      if ([committed.answer].flat().includes('open')) await lockOut();
      return committed;
    },
  } as typeof world.host;
  world.startDeliverer({ host });
  await world.fire(['vm-1']);
  await world.pass(10_000, 1_000);
  t.same(world.notifier.requests, []);
  t.match(world.deliveries(), [
    { value: 'suppressed', reason: 'RECIPIENT_REMOVED', attempts: [{ outcome: 'failed' }] },
  ]);
});

test('nothing is sent to a destination deleted after its attempt was opened, and no fault is reported', async (t) => {
  const world = await openDeliveryWorld(t);
  const hook = await world.addDestination();
  await world.putInForce({ destinationNames: [hook] });
  world.startTimers();
  const host = {
    ...world.host,
    async submit(submission: Parameters<typeof world.host.submit>[0]) {
      const committed = await world.host.submit(submission);
      // As if it had been acknowledged while the attempt's commit was in progress.
      if ([committed.answer].flat().includes('open')) {
        await world.toDestination(hook, { type: 'deleted', by: 'me' });
      }
      return committed;
    },
  } as typeof world.host;
  world.startDeliverer({ host });
  await world.fire(['vm-1']);
  await world.pass(10_000, 1_000);
  t.same(world.notifier.requests, []);
  t.same(world.reportedFaults(), []);
  t.match(world.deliveries(), [
    { value: 'suppressed', reason: 'DESTINATION_DELETED', attempts: [{ outcome: 'failed' }] },
  ]);
});
