/** The end of a session and its return: pending calls continue for the same user only. */
import { test } from 'tap';
import { openDraft } from '../../src/dashboard/data/draft.ts';
import { createSession, sessionState, signInPath } from '../../src/dashboard/data/session.ts';

function sessionWithEvents() {
  const events: string[] = [];
  const session = createSession({
    broadcast: () => events.push('broadcast'),
    reload: () => events.push('reload'),
  });
  return { session, events };
}

test('pending calls continue when the same user is back', async (t) => {
  const { session, events } = sessionWithEvents();
  session.identified('people/ada');
  const waiting = Promise.all([session.ended(), session.ended()]);
  t.equal(sessionState.value, 'ended');
  session.identified('people/ada');
  await waiting;
  t.equal(sessionState.value, 'active');
  t.same(events, []);
});

test('another user gets a fresh page, and nothing pending is sent', async (t) => {
  const { session, events } = sessionWithEvents();
  session.identified('people/ada');
  let went = false;
  void session.ended().then(() => {
    went = true;
  });
  session.identified('people/bob');
  await new Promise((resolve) => setImmediate(resolve));
  t.same(events, ['reload']);
  t.equal(went, false);
  sessionState.value = 'active';
});

test('other tabs are woken once per session', async (t) => {
  const { session, events } = sessionWithEvents();
  session.answered();
  session.answered();
  t.same(events, ['broadcast']);
  void session.ended();
  session.identified('people/ada');
  session.answered();
  t.same(events, ['broadcast', 'broadcast']);
});

test('the sign-in returns to the page with its filters', async (t) => {
  t.equal(
    signInPath('/projects/p/vms?search=web&state=RUNNING'),
    '/auth/sign-in?return=%2Fprojects%2Fp%2Fvms%3Fsearch%3Dweb%26state%3DRUNNING',
  );
});

/** sessionStorage, as far as drafts use it. */
function memoryStore() {
  const kept = new Map<string, string>();
  return {
    kept,
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  };
}

test('a draft survives a reload, without its secrets', async (t) => {
  const store = memoryStore();
  const initial = { name: '', url: '' };
  const draft = openDraft(store, 'destination', initial, ['url']);
  draft.value.value = { name: 'Ops', url: 'https://hooks.example/secret' };
  draft.keep();
  t.notMatch([...store.kept.values()].join(), 'secret');
  const reopened = openDraft(store, 'destination', initial, ['url']);
  t.equal(reopened.isTyped(), true);
  t.same(reopened.value.value, { name: 'Ops', url: '' });
  reopened.discard();
  t.equal(store.kept.size, 0);
  reopened.keep();
  t.equal(store.kept.size, 0, 'a late subscriber does not store it either');
  t.equal(reopened.isTyped(), false);
  t.equal(openDraft(store, 'destination', initial).isTyped(), false);
});

test('an unreadable draft starts empty', async (t) => {
  const store = memoryStore();
  store.setItem('svc-draft:rule', '{broken');
  const draft = openDraft(store, 'rule', { a: 1 });
  t.same(draft.value.value, { a: 1 });
  t.equal(draft.isTyped(), false);
});

test('a full store loses the draft but not the form', async (t) => {
  const full = {
    ...memoryStore(),
    setItem: () => {
      throw new Error('QuotaExceededError');
    },
  };
  const draft = openDraft(full, 'rule', { name: '' });
  draft.value.value = { name: 'CPU' };
  t.doesNotThrow(() => draft.keep());
  t.equal(draft.value.value.name, 'CPU');
});
