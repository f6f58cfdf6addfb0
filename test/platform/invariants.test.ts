/**
 * Invariants of rules, deliveries, destinations, credentials and data centers under every order of
 * events. A walk takes every event of the alphabet from every state of the model; each invariant is
 * a predicate over all of these steps.
 */
import { test } from 'tap';
import type { AlertRuleContext } from '../../machines/alerting/alert-rule.ts';
import { DELIVERY_REASONS, type DeliveryContext } from '../../machines/delivery/delivery.ts';
import type { DestinationContext } from '../../machines/delivery/destination.ts';
import { type RecipientContext, VERIFICATION_MS } from '../../machines/delivery/recipient.ts';
import type { CredentialContext } from '../../machines/identity/credential.ts';
import { HOUR, START } from './machines/model.ts';
import {
  brief,
  contextOf,
  edgesOf,
  notified,
  sameTimers,
  taken,
  typesOf,
  walked,
} from './machines/questions.ts';
import type { Edge } from './machines/walk.ts';

test('alertRule: only a report of the desired version is accepted', async (t) => {
  const reports = edgesOf('alertRule', 'applied', 'applicationFailed');
  const foreign = reports.filter(({ from, event }) => {
    return event.version !== contextOf<AlertRuleContext>(from).version;
  });
  t.ok(foreign.length > 0);
  t.same(brief(foreign.filter((edge) => edge.taken.length > 0)), []);
  for (const { to } of taken(reports).filter(({ event }) => event.type === 'applied')) {
    const { appliedVersion, version, syncError, spec } = contextOf<AlertRuleContext>(to);
    t.equal(appliedVersion, version);
    t.equal(syncError, null);
    t.equal(to.value, spec.enabled ? 'active' : 'paused');
  }
});

test('alertRule: an edit is a new desired version, pending until applied', async (t) => {
  const edits = edgesOf('alertRule', 'edited').filter(({ from }) => !from.final);
  for (const { from, to, event, effects } of edits) {
    const before = contextOf<AlertRuleContext>(from);
    const after = contextOf<AlertRuleContext>(to);
    const { enabled } = event.spec as AlertRuleContext['spec'];
    const changed = event.evaluationChanged === true || enabled !== before.spec.enabled;
    t.equal(to.value, 'pendingApplication');
    t.equal(after.version, before.version + 1);
    t.equal(after.evaluationRevision, before.evaluationRevision + (changed ? 1 : 0));
    t.same(effects, [{ type: 'applyRule' }]);
  }
});

test('alertRule: incidents that an application or a deletion outdates are retired, with the reason', async (t) => {
  const { edges } = walked('alertRule');
  const settling = taken(edges).filter(({ event }) => /^(applied|deleted)$/.test(event.type));
  const reasons = new Set<string>();
  for (const { from, to, effects } of settling) {
    const before = contextOf<AlertRuleContext>(from);
    const through = before.evaluationRevision - (to.value === 'deleted' ? 0 : 1);
    const reason = { active: 'RULE_CHANGED', paused: 'RULE_PAUSED', deleted: 'RULE_DELETED' };
    const wanted = [
      { type: 'retireInstances', reason: reason[to.value as keyof typeof reason] },
    ].filter(() => before.retiredThroughRevision < through);
    t.equal(contextOf<AlertRuleContext>(to).retiredThroughRevision, through);
    t.same(effects, wanted);
    for (const { reason } of wanted) reasons.add(reason);
  }
  t.same([...reasons].sort(), ['RULE_CHANGED', 'RULE_DELETED', 'RULE_PAUSED']);
  t.same(
    brief(edges.filter(({ effects }) => notified(effects).length > 0)),
    [],
    'no one is notified',
  );
});

test('alertRule: a pause leaves nothing of its revision live', async (t) => {
  const paused = walked('alertRule').rows.filter(({ value }) => value === 'paused');
  t.ok(paused.length > 0);
  for (const row of paused) {
    const { retiredThroughRevision, evaluationRevision } = contextOf<AlertRuleContext>(row);
    t.equal(retiredThroughRevision, evaluationRevision - 1);
  }
});

test('delivery: sending is entered only from rechecking, within 24 hours', async (t) => {
  const sending = walked('delivery').edges.filter(({ from, to }) => {
    return to.value === 'sending' && from.value !== 'sending';
  });
  t.ok(sending.length > 0);
  for (const { from, to, event } of sending) {
    t.equal(from.value, 'rechecking');
    t.ok(event.at < START + 24 * HOUR);
    const { attempts, bodyDigest } = contextOf<DeliveryContext>(to);
    t.match(attempts.at(-1), { attemptId: event.attemptId, startedMs: event.at, outcome: null });
    t.equal(bodyDigest, 'd1', 'the body is that of the first attempt');
  }
});

test('delivery: after 24 hours only an attempt in flight remains', async (t) => {
  const late = walked('delivery').edges.filter(({ from, event }) => {
    return !from.final && event.at >= START + 24 * HOUR;
  });
  for (const { from, to, event } of taken(late)) {
    const outcomes = { accepted: 'sent', refused: 'failed', suppressed: 'suppressed' };
    const wanted = outcomes[event.type as keyof typeof outcomes] ?? 'expired';
    if (to.value !== wanted) t.fail(`${from.value} --${event.type}--> ${to.value}`);
  }
  t.ok(taken(late).some(({ from, to }) => from.value === 'sending' && to.value === 'expired'));
  const timed = walked('delivery').rows.filter(({ timers }) => timers.size > 0);
  t.ok(timed.length > 0);
  for (const { value, timers } of timed) {
    t.equal(timers.get(`xstate.after.lifetimeEnd.delivery.${value}`), START + 24 * HOUR);
    t.ok([...timers.values()].every((due) => due <= START + 24 * HOUR));
  }
});

test('delivery: only its own outcome ends an open attempt, and every attempt ends', async (t) => {
  const { rows, edges } = walked('delivery');
  const fromSending = taken(edges).filter(({ from }) => from.value === 'sending');
  t.same([...typesOf(fromSending)].sort(), ['accepted', 'attemptFailed', 'attemptLost', 'refused']);
  const other = edges.filter(({ event }) => /other/.test(String(event.attemptId)));
  t.ok(other.length > 0);
  t.same(brief(taken(other)), [], 'an outcome of another attempt changes nothing');
  for (const row of rows) {
    const { attempts, reason } = contextOf<DeliveryContext>(row);
    const open = attempts.filter(({ outcome }) => outcome === null);
    t.equal(open.length, row.value === 'sending' ? 1 : 0);
    if (reason !== null) t.ok(DELIVERY_REASONS.includes(reason));
    const unsent = ['suppressed', 'expired', 'failed'].includes(String(row.value));
    t.equal(reason !== null, unsent, `${row.value} has ${reason}`);
  }
});

test('delivery: a wait ends with the next attempt, which is rechecked', async (t) => {
  const waiting = walked('delivery').rows.filter(({ value }) => value === 'waiting');
  t.ok(waiting.length > 0);
  for (const row of waiting) {
    const due = row.timers.get('xstate.after.retryDelay.delivery.waiting');
    t.equal(due, contextOf<DeliveryContext>(row).nextAttemptMs);
  }
  const out = taken(walked('delivery').edges).filter(({ from }) => from.value === 'waiting');
  t.same([...new Set(out.map(({ to }) => String(to.value)))].sort(), [
    'expired',
    'rechecking',
    'suppressed',
  ]);
});

test('delivery: a lost attempt counts as possibly delivered', async (t) => {
  const lost = taken(edgesOf('delivery', 'attemptLost'));
  t.ok(lost.length > 0);
  for (const { to } of lost) {
    t.equal(contextOf<DeliveryContext>(to).attempts.at(-1)?.outcome, 'unknown');
  }
});

test('destination: at most two secrets are live, current first, the second only with its timer', async (t) => {
  const { rows, edges } = walked('destination');
  t.ok(rows.some(({ timers }) => timers.size > 0));
  for (const row of rows) {
    const { length } = contextOf<DestinationContext>(row).secrets;
    t.equal(length, row.final ? 0 : row.timers.has('overlapEnded') ? 2 : 1);
  }
  for (const { from, to, event } of taken(edges).filter(isRotation)) {
    const [current, previous] = contextOf<DestinationContext>(to).secrets;
    const [before] = contextOf<DestinationContext>(from).secrets;
    t.equal(current?.id, event.secretId);
    t.equal(previous?.id, event.overlapMs === 0 ? undefined : before?.id);
    const overlapMs = Math.min(Number(event.overlapMs), 24 * HOUR);
    t.equal(to.timers.get('overlapEnded'), overlapMs === 0 ? undefined : event.at + overlapMs);
  }
});

test('destination: an overlap is displayed exactly while its timer runs', async (t) => {
  for (const { timers, context } of walked('destination').rows) {
    t.equal(context.overlapEndsMs, timers.get('overlapEnded') ?? null);
  }
});

test('destination: a new address resets the failure count', async (t) => {
  const retargeted = taken(edgesOf('destination', 'retargeted'));
  t.ok(retargeted.some(({ from }) => contextOf<DestinationContext>(from).failingSinceMs !== null));
  for (const { from, to, event } of retargeted) {
    t.equal(to.value, from.value, 'it stays paused, or active');
    const { urlId, host } = event;
    t.match(to.context, { urlId, host, failingSinceMs: null, secrets: from.context.secrets });
  }
});

test('destination: three days of failures pause it; a day without failures resets the count', async (t) => {
  const failed = taken(edgesOf('destination', 'attemptFailed')).filter(
    // An attempt in flight at the pause no longer counts.
    ({ from }) => from.value === 'active',
  );
  const pausing = failed.filter(({ to }) => to.value === 'paused');
  t.ok(pausing.length > 0);
  for (const { path, event } of pausing) {
    const times = [...path, event].map(({ type, at }) => ({ type, at }));
    const began = times.findLastIndex(({ type }) => {
      return ['attemptAccepted', 'resumed', 'retargeted'].includes(type);
    });
    const ats = times.slice(began + 1).flatMap((each) => {
      return each.type === 'attemptFailed' ? [each.at] : [];
    });
    t.ok(event.at - (ats[0] ?? event.at) >= 72 * HOUR);
    const lately = ats.filter((at) => event.at - at <= 95 * HOUR);
    t.ok(lately.length >= 4, 'failures last all three days');
  }
  const afterSilence = failed.filter(({ from, event }) => {
    const { lastFailedMs } = contextOf<DestinationContext>(from);
    return lastFailedMs !== null && event.at - lastFailedMs > 24 * HOUR;
  });
  t.ok(afterSilence.length > 0);
  for (const { to, event } of afterSilence) {
    t.equal(to.value, 'active');
    t.match(to.context, { failingSinceMs: event.at, lastFailedMs: event.at });
  }
});

test('recipient: confirmation needs a press on the current link within 24 hours', async (t) => {
  const { edges } = walked('recipient');
  const become = edges.filter(({ from, to }) => {
    return to.value === 'verified' && from.value !== 'verified';
  });
  t.same([...new Set(become.map(({ from }) => from.value))].sort(), ['invited']);
  for (const { path, from, event } of become) {
    const { tokenHash, tokenExpiresMs } = contextOf<RecipientContext>(from);
    t.equal(event.type, 'verified');
    t.equal(event.tokenHash, tokenHash);
    t.ok(tokenHash !== null && event.at < Number(tokenExpiresMs));
    const sent = path.findLast(({ type }) => type === 'invitedAgain')?.at ?? START;
    t.ok(event.at - sent < VERIFICATION_MS, 'from the last mail on');
  }
  const late = edgesOf('recipient', 'verified').filter(({ from, event }) => {
    return event.at >= Number(contextOf<RecipientContext>(from).tokenExpiresMs ?? Infinity);
  });
  t.ok(late.length > 0);
  t.same(brief(taken(late)), []);
});

test('recipient: a link works once, and none remains after the holder declined', async (t) => {
  for (const { value, context } of walked('recipient').rows) {
    const { tokenHash, tokenExpiresMs } = context as unknown as RecipientContext;
    t.equal(tokenHash === null, tokenExpiresMs === null);
    t.equal(tokenHash !== null, value === 'invited', String(value));
  }
  const unsubscribed = taken(edgesOf('recipient', 'unsubscribed'));
  t.same([...new Set(unsubscribed.map(({ from }) => String(from.value)))].sort(), [
    'bounced',
    'invited',
    'verified',
  ]);
  for (const { to } of unsubscribed) t.match(to.context, { tokenHash: null });
});

test('recipient: a removed recipient stays removed', async (t) => {
  const { edges } = walked('recipient');
  const removals = edgesOf('recipient', 'removed').filter(({ from }) => !from.final);
  t.same([...new Set(removals.map(({ from }) => String(from.value)))].sort(), [
    'bounced',
    'invited',
    'unsubscribed',
    'verified',
  ]);
  for (const { to } of removals) t.match(to, { value: 'removed', final: true });
  t.same(brief(taken(edges.filter(({ from }) => from.final))), []);
});

test('destination: the overlap continues through pause and resume', async (t) => {
  const moved = taken(edgesOf('destination', 'paused', 'resumed', 'renamed', 'retargeted'));
  t.ok(moved.some(({ from }) => from.timers.size > 0));
  t.ok(moved.every(({ from, to }) => sameTimers(from, to)));
});

test('credential: revocation is immediate from every live state', async (t) => {
  const revoking = edgesOf('credential', 'revoked').filter(({ from }) => !from.final);
  t.same([...new Set(revoking.map(({ from }) => String(from.value)))].sort(), [
    'active',
    'rotating',
  ]);
  for (const { to, event } of revoking) {
    t.equal(to.value, 'revoked');
    t.match(to.context, { revokedMs: event.at, revokedReason: 'LEAKED' });
  }
  const replaced = edgesOf('credential', 'rotated').filter(({ event }) => event.overlapMs === 0);
  t.ok(
    replaced.every(({ from, to }) => from.final || to.value === 'revoked'),
    'the overlap ends too',
  );
});

test('credential: an old key never outlives 24 hours from its first rotation, nor its lifetime', async (t) => {
  const rotating = walked('credential').edges.filter(({ to }) => to.value === 'rotating');
  t.ok(
    rotating.some(({ from }) => from.value === 'rotating'),
    'a second rotation was walked',
  );
  for (const { to } of rotating) {
    const { rotatedMs, overlapEndsMs, expiresMs } = contextOf<CredentialContext>(to);
    t.ok(rotatedMs !== null && Number(overlapEndsMs) <= rotatedMs + 24 * HOUR);
    t.equal(to.timers.get('xstate.after.overlapEnd.credential.rotating'), overlapEndsMs);
    t.equal(to.timers.get('xstate.after.lifetimeEnd.credential.rotating'), expiresMs);
  }
});

test('datacenter: stale starts with observed silence and ends with a report', async (t) => {
  const moved = walked('datacenter').edges.filter(({ from, to }) => from.value !== to.value);
  t.same(
    moved.map(({ from, event, to }) => [from.value, event.type, to.value]),
    [
      ['live', 'silenceNoticed', 'stale'],
      ['stale', 'reported', 'live'],
    ],
  );
});

function isRotation({ event }: Edge): boolean {
  return event.type === 'secretRotated';
}
