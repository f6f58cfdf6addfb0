/**
 * The user's account: who is signed in, the settings of this browser, and signing out of all
 * sessions.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { ActionButton } from '../../components/action-button.tsx';
import { DataView } from '../../components/data-view.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Field, SelectField } from '../../components/fields.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { msOf, Time } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { nowMs } from '../../data/clock.ts';
import { useLoaded } from '../../data/loaded.ts';
import { useMutation } from '../../data/mutation.ts';
import { format, preferences } from '../../data/preferences.ts';
import { projectsState } from '../../data/projects.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { signInPath } from '../../data/session.ts';
import { pageTitles } from '../../layout/texts.ts';
import { ThemeSelect } from '../../layout/theme-select.tsx';
import { formatTime } from '../../messages/format.ts';
import { pathOf } from '../../router/match.ts';
import { Sessions } from './sessions.tsx';
import { texts as all } from './texts.ts';

const texts = all.account;

type Person = ResponseOf<'ProjectService', 'getSelf'>;

export function Page(): VNode {
  const self = useLoaded('self', (options) => read('ProjectService', 'getSelf', {}, options));
  return (
    <>
      <h1>{pageTitles.account}</h1>
      <DataView of={self} lines={4}>
        {(person) => <Facts person={person} />}
      </DataView>
      <p>
        <a href={`${pathOf('home')}?all`}>{texts.projects}</a>
      </p>
      <MyKeys />
      <section aria-labelledby="browser">
        <h2 id="browser">{texts.browser}</h2>
        <ThisBrowser />
      </section>
      <section aria-labelledby="sessions">
        <h2 id="sessions">{texts.sessions}</h2>
        <Sessions />
        <SignOut />
      </section>
    </>
  );
}

function Facts({ person }: { readonly person: Person }): VNode {
  const { displayName, name, email, unprovenEmail, signInMethod, sessionExpiresUnix } = person;
  const methods: Readonly<Record<string, string>> = texts.methods;
  const ends = msOf(sessionExpiresUnix);
  return (
    <dl class="facts">
      <div>
        <dt>{texts.person}</dt>
        <dd>
          <strong>{displayName || name}</strong> {displayName !== '' && <code>{name}</code>}
        </dd>
      </div>
      <div>
        <dt>{texts.email}</dt>
        <dd>{email || (unprovenEmail ? texts.unproven(unprovenEmail) : texts.noEmail)}</dd>
      </div>
      <div>
        <dt>{texts.method}</dt>
        <dd>{methods[signInMethod] ?? signInMethod}</dd>
      </div>
      <div>
        <dt>{texts.until}</dt>
        <dd>{ends !== undefined && <Time ms={ends} />}</dd>
      </div>
    </dl>
  );
}

/** One link per project, because a key works in only one. */
function MyKeys(): VNode | null {
  const state = projectsState.value;
  if (state.is !== 'loaded' || state.projects.length === 0) return null;
  return (
    <section aria-labelledby="keys">
      <h2 id="keys">{texts.keys}</h2>
      <ul class="plain-list">
        {state.projects.map(({ name, displayName, memberName }) => (
          <li key={name}>
            <a href={`/${memberName}/keys`}>{texts.keysIn(displayName || name)}</a>
          </li>
        ))}
      </ul>
    </section>
  );
}

function ThisBrowser(): VNode {
  const { zone, shortcuts } = preferences;
  return (
    <div class="settings">
      <Field label={texts.theme}>{({ id }) => <ThemeSelect id={id} />}</Field>
      <SelectField
        label={texts.zone}
        help={texts.zoneHelp(formatTime(nowMs.value, nowMs.value, format.value))}
        value={zone.value}
        options={[
          { value: 'local', title: texts.local },
          { value: 'utc', title: texts.utc },
        ]}
        onChange={(value) => {
          zone.value = value === 'utc' ? 'utc' : 'local';
        }}
      />
      <SelectField
        label={texts.shortcuts}
        help={texts.shortcutsHelp}
        value={shortcuts.value}
        options={[
          { value: 'on', title: texts.on },
          { value: 'off', title: texts.off },
        ]}
        onChange={(value) => {
          shortcuts.value = value === 'off' ? 'off' : 'on';
        }}
      />
    </div>
  );
}

function SignOut(): VNode {
  const isAsking = useSignal(false);
  const signOut = useMutation('ProjectService', 'signOutEverywhere');
  const { kind } = signOut.state.value;
  useEffect(() => {
    if (kind === 'done') window.location.assign(signInPath(pathOf('home')));
  }, [kind]);
  return (
    <div class="buttons">
      <a href="/auth/signed-in">{texts.linkAccount}</a>
      <form class="action" method="post" action="/auth/logout">
        <button type="submit" class="quiet">
          {texts.signOutHere}
        </button>
        <small class="effect">{texts.signOutHereEffect}</small>
      </form>
      <ActionButton
        look="danger"
        effect={texts.signOutEffect}
        onPress={() => {
          isAsking.value = true;
        }}
      >
        {texts.signOut}
      </ActionButton>
      <Dialog
        title={texts.signOutAsk}
        isOpen={isAsking.value}
        onClose={() => {
          isAsking.value = false;
        }}
        actions={
          <ActionButton
            look="danger"
            isBusy={kind === 'sending'}
            onPress={() => void signOut.send({})}
          >
            {texts.signOut}
          </ActionButton>
        }
      >
        <p>{texts.signOutEffect}</p>
        <p>{texts.signOutHelp}</p>
        <MutationStatus of={signOut} />
      </Dialog>
    </div>
  );
}
