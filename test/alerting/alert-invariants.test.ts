/**
 * Invariants of every path of an alert instance, in any order of events: above all, absence never
 * recovers it. The walk takes every event of the alphabet from every state of the model; an
 * invariant is a predicate over all these steps.
 */
import { test } from 'tap';
import { type AlertInstanceContext, conditionOf } from '../../machines/alerting/alert-instance.ts';
import {
  brief,
  contextOf,
  edgesOf,
  notified,
  sameTimers,
  taken,
  typesOf,
  walked,
} from '../platform/machines/questions.ts';
import { type Edge, leavesOf, type Row } from '../platform/machines/walk.ts';

const SNOOZE_END = 'xstate.after.snoozeEnd.alertInstance.firing.notification.snoozed';

test('alertInstance: only a recovered event ends firing as recovered', async (t) => {
  const { edges } = walked('alertInstance');
  const ends = edges.filter(({ from, to }) => isFiring(from) && to.value === 'idle');
  t.same([...typesOf(ends)], ['recovered']);
  const recovering = edges.filter(({ from, to }) => {
    return recoveredMs(from) === null && recoveredMs(to) !== null;
  });
  t.ok(recovering.length > 100);
  t.same([...typesOf(recovering)], ['recovered']);
});

test('alertInstance: no path without a recovered event contains a recovery', async (t) => {
  const { edges } = walked('alertInstance');
  const silent = edges.filter(({ path, event }) => {
    return ![...path, event].some(({ type }) => type === 'recovered');
  });
  t.ok(silent.length > 100);
  t.same(brief(silent.filter(({ to }) => isFiring(to) === false && hasFired(to) && !to.final)), []);
  t.same(brief(silent.filter(({ effects }) => notified(effects).includes('RECOVERED'))), []);
});

test('STATE-05: missing data, evaluator errors and time leave an alert instance’s condition unchanged', async (t) => {
  const types = ['dataMissing', 'dataObserved', 'evaluatorFailed', 'evaluatorHealthy', 'repeatDue'];
  const harmless = edgesOf('alertInstance', ...types, SNOOZE_END);
  t.ok(harmless.some(({ taken }) => taken.length > 0));
  t.same(
    brief(harmless.filter(({ from, to }) => conditionOf(from.value) !== conditionOf(to.value))),
    [],
  );
  t.same(
    brief(harmless.filter(({ from, to }) => incidentOf(from)?.value !== incidentOf(to)?.value)),
    [],
    'no value is made up for them',
  );
});

test('alertInstance: data events change only the data region and send no notification', async (t) => {
  const data = edgesOf('alertInstance', 'dataMissing', 'dataObserved', 'evaluatorFailed');
  const others = ({ value }: Row) =>
    leavesOf(value).filter((leaf) => !/[.]data[.]|^sustaining[.]/.test(leaf));
  t.same(brief(data.filter(({ from, to }) => String(others(from)) !== String(others(to)))), []);
  t.same(brief(data.filter(({ effects }) => notified(effects).length > 0)), []);
  const missing = walked('alertInstance').rows.filter(({ value }) => isIn(value, 'data.missing'));
  t.ok(missing.every((row) => incidentOf(row)?.dataMissingSinceMs !== null));
});

test('alertInstance: past decisions are not repeated', async (t) => {
  const old = walked('alertInstance').edges.filter(({ from, event }) => {
    const { decidedThrough } = contextOf<AlertInstanceContext>(from);
    const fires = event.type === 'sustained' && Number(event.eventMs) <= decidedThrough;
    return fires || (event.type === 'recovered' && Number(event.eventMs) < decidedThrough);
  });
  t.ok(old.length > 100);
  t.same(brief(old.filter(({ taken }) => taken.length > 0)), []);
});

test('alertInstance: an incident opens only by sustained from sustaining', async (t) => {
  const opening = walked('alertInstance').edges.filter(({ from, to }) => {
    return incidentOf(from)?.ordinal !== incidentOf(to)?.ordinal;
  });
  t.ok(
    opening.some(({ from }) => hasFired(from)),
    'the walk includes a second incident',
  );
  t.same([...typesOf(opening)], ['sustained']);
  t.ok(opening.every(({ from }) => isIn(from.value, 'sustaining.observed')));
  for (const { to, event } of opening) {
    const incident = incidentOf(to);
    t.match(incident, {
      acknowledged: null,
      snoozedUntilMs: null,
      recoveredMs: null,
      repeats: 0,
    });
    t.match(incident, { firedMs: event.at, startedMs: event.startedMs });
  }
});

test('alertInstance: a gap neither promotes a run nor drops it', async (t) => {
  const { edges } = walked('alertInstance');
  const silent = edges.filter(({ from }) => isIn(from.value, 'sustaining.missing'));
  const restarted = silent.filter(({ to }) => isIn(to.value, 'sustaining.observed'));
  t.same([...typesOf(restarted)], ['breachStarted']);
  const ended = silent.filter(({ to }) => to.value === 'idle');
  t.same([...typesOf(ended)], ['breachEnded'], 'only an observation ends it');
  t.same(brief(silent.filter(({ to }) => isFiring(to))), []);
  const begun = taken(edgesOf('alertInstance', 'dataMissing')).filter(
    ({ from }) => !isFiring(from),
  );
  t.ok(begun.length > 0);
  for (const { from, to, event } of begun) {
    t.ok(isIn(from.value, 'sustaining.observed') && isIn(to.value, 'sustaining.missing'));
    const { sinceMs, missingSinceMs } = contextOf<AlertInstanceContext>(to);
    t.match({ sinceMs, missingSinceMs }, { sinceMs: sinceOf(from), missingSinceMs: event.sinceMs });
  }
});

test('alertInstance: its condition start equals the start of the run, or null when idle', async (t) => {
  const { rows, edges } = walked('alertInstance');
  const starts = rows.filter(isFiring).map((row) => [sinceOf(row), incidentOf(row)?.startedMs]);
  t.ok(starts.length > 0 && starts.every(([since, started]) => since === started));
  const idle = rows.filter(({ value }) => value === 'idle');
  t.ok(idle.length > 1 && idle.every((row) => sinceOf(row) === null));
  const begun = taken(edges.filter(({ event }) => event.type === 'breachStarted'));
  t.ok(begun.some(({ from }) => isIn(from.value, 'sustaining.missing')));
  t.ok(begun.every(({ to, event }) => sinceOf(to) === event.eventMs));
  const missing = rows.filter(({ value }) => isIn(value, 'sustaining.missing'));
  t.ok(missing.length > 0 && missing.every((row) => sinceOf(row) !== null));
});

test('alertInstance: acknowledging records attention and changes nothing else', async (t) => {
  const acknowledging = taken(edgesOf('alertInstance', 'acknowledged'));
  t.ok(acknowledging.length > 0);
  t.same(brief(acknowledging.filter(({ effects }) => notified(effects).length > 0)), []);
  t.ok(acknowledging.every(({ to }) => isIn(to.value, 'attention.acknowledged')));
  t.ok(
    acknowledging.every(({ from, to }) => sameTimers(from, to)),
    'reminders continue',
  );
});

test('alertInstance: a snoozed incident sends no notification until the snooze or the incident ends', async (t) => {
  const snoozed = walked('alertInstance').edges.filter(({ from }) => isIn(from.value, 'snoozed'));
  const notifying = snoozed.filter(({ effects }) => notified(effects).length > 0);
  t.same([...typesOf(notifying)].sort(), ['recovered', 'unsnoozed', SNOOZE_END]);
  const requested = taken(edgesOf('alertInstance', 'snoozed'));
  t.ok(requested.length > 100);
  t.same(
    brief(requested.filter(({ effects }) => notified(effects).length > 0)),
    [],
    'its beginning does not notify either',
  );
  const ended = snoozed.filter(({ event }) => [SNOOZE_END, 'unsnoozed'].includes(event.type));
  for (const { event, from, to, effects } of ended) {
    t.ok(isIn(to.value, 'notifying') && isFiring(to));
    t.same(notified(effects), incidentOf(from)?.notify ? ['REPEATED'] : [], 'reported once');
    if (event.type !== SNOOZE_END) continue;
    t.equal(from.timers.get(SNOOZE_END), incidentOf(from)?.snoozedUntilMs, 'at its absolute end');
  }
});

test('alertInstance: reminders count up, and run only while notifying and requested', async (t) => {
  const { rows, edges } = walked('alertInstance');
  for (const row of rows.filter(isFiring)) {
    const { repeatIntervalMs, incident } = contextOf<AlertInstanceContext>(row);
    const wanted = repeatIntervalMs > 0 && incident?.notify && isIn(row.value, 'notifying');
    if (row.timers.has('repeatDue') !== Boolean(wanted)) t.fail(JSON.stringify(row.value));
  }
  t.ok(rows.filter((row) => !isFiring(row)).every(({ timers }) => timers.size === 0));
  const reminding = edges.filter(({ effects }) => notified(effects).includes('REPEATED'));
  t.ok(reminding.length > 0);
  for (const { from, to, effects } of reminding) {
    const occurrence = (incidentOf(from)?.repeats ?? 0) + 1;
    t.equal(incidentOf(to)?.repeats, occurrence);
    t.match(
      effects.find(({ type }) => type === 'notify'),
      { occurrence },
    );
  }
});

test('alertInstance: an incident recorded without notification never notifies', async (t) => {
  const untold = walked('alertInstance').edges.filter(({ to }) => incidentOf(to)?.notify === false);
  t.ok(untold.length > 100);
  t.same(brief(untold.filter(({ effects }) => notified(effects).length > 0)), []);
});

test('alertInstance: every change of an incident is recorded', async (t) => {
  const { edges } = walked('alertInstance');
  const changed = edges.filter(({ from, to }) => {
    return JSON.stringify(incidentOf(from)) !== JSON.stringify(incidentOf(to));
  });
  const recorded = ({ effects }: Edge) => effects.some(({ type }) => type === 'recordIncident');
  t.ok(changed.length > 100);
  t.same(brief(changed.filter((edge) => !recorded(edge))), []);
});

test('alertInstance: retiring works immediately from every live state without a recovery', async (t) => {
  const retiring = edgesOf('alertInstance', 'retired').filter(({ from }) => !from.final);
  t.ok(retiring.every(({ to }) => to.value === 'retired' && to.final));
  t.same(brief(retiring.filter(({ effects }) => notified(effects).length > 0)), []);
  const open = retiring.filter(({ from }) => isFiring(from));
  t.ok(open.length > 0);
  for (const { event, to } of open) {
    t.match(incidentOf(to), {
      retiredMs: event.at,
      retireReason: event.reason,
      recoveredMs: null,
    });
  }
});

function incidentOf(row: Row): AlertInstanceContext['incident'] {
  return contextOf<AlertInstanceContext>(row).incident;
}

function sinceOf(row: Row): number | null {
  return contextOf<AlertInstanceContext>(row).sinceMs;
}

function recoveredMs(row: Row): number | null {
  return incidentOf(row)?.recoveredMs ?? null;
}

function hasFired(row: Row): boolean {
  return incidentOf(row) !== null;
}

function isFiring(row: Row): boolean {
  return conditionOf(row.value) === 'firing';
}

function isIn(value: Row['value'], part: string): boolean {
  return leavesOf(value).some((leaf) => leaf.endsWith(part));
}
