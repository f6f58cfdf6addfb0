/** One service account: its permissions, its keys, how to use them, and its deletion. */

import type { VNode } from 'preact';
import { StateBadge } from '../../components/badges.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { DataView } from '../../components/data-view.tsx';
import { Fact } from '../../components/fact.tsx';
import { NoticeBox } from '../../components/notice-box.tsx';
import { Age, msOf } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { type Loader, useLoaded } from '../../data/loaded.ts';
import { pageTitles } from '../../layout/texts.ts';
import { navigate, programOrigin } from '../../router/location.ts';
import { pathIfAny, pathOf } from '../../router/match.ts';
import { AboveTitle } from '../above-title.tsx';
import type { PageProps } from '../page.ts';
import { useTitle } from '../title.ts';
import { texts as all, shortCapabilities } from './access-texts.ts';
import { AccountActions } from './account-actions.tsx';
import { OwnerKeys } from './keys.tsx';
import type { Account } from './use-service-accounts.ts';

const texts = all.accounts;
const POLL_SECONDS = 30;

export function Page({ parameters }: PageProps): VNode {
  const { project = '', account: id } = parameters;
  const name = `projects/${project}/serviceAccounts/${id}`;
  const account = useLoaded(
    name,
    (options) => read('AutomationService', 'getServiceAccount', { name }, options),
    POLL_SECONDS,
  );
  const value = account.state.value.value;
  useTitle(value?.displayName);
  return (
    <>
      <AboveTitle list="serviceAccounts" project={project} />
      <h1 class="name">{value?.displayName || pageTitles.serviceAccount}</h1>
      <DataView of={account} lines={8}>
        {(value) => <AccountDetails account={value} loader={account} project={project} />}
      </DataView>
    </>
  );
}

interface AccountProps {
  readonly account: Account;
  readonly loader: Loader<Account>;
  readonly project: string;
}

function AccountDetails({ account, loader, project }: AccountProps): VNode {
  const isDisabled = account.state === 'DISABLED';
  const mayRead = account.capabilities.includes('monitoring.read');
  return (
    <>
      {isDisabled && (
        <NoticeBox tone="warning" title={texts.isDisabled}>
          <p>{account.disabledReason}</p>
          <p>{texts.isDisabledHelp}</p>
        </NoticeBox>
      )}
      <Facts account={account} project={project} />
      <AccountActions
        account={account}
        onSaved={loader.set}
        onDeleted={() => navigate(pathOf('serviceAccounts', { project }))}
      />
      <h2>{texts.keys}</h2>
      <OwnerKeys
        parent={account.name}
        granted={account.capabilities}
        blocked={blockedKeys(account)}
        isDisabled={isDisabled}
        limit={texts.keyLimit}
        onChanged={loader.reload}
      />
      {mayRead && <Usage project={project} />}
    </>
  );
}

function blockedKeys({ state, capabilities }: Account): string | undefined {
  if (state === 'DISABLED') return texts.enableFirst;
  return capabilities.length === 0 ? texts.grantFirst : undefined;
}

function Facts({ account, project }: { account: Account; project: string }): VNode {
  const { state, capabilities, template, activeConnections } = account;
  const connections = pathIfAny('ciConnections', { project });
  return (
    <>
      <dl class="facts wide">
        <Fact title={texts.state}>
          <StateBadge value={state} />
        </Fact>
        <Fact title={texts.grants}>
          {shortCapabilities(capabilities)}
          {template !== '' && <span class="weak"> {texts.from(template)}</span>}
        </Fact>
        <Fact title={texts.createdAt}>
          <Age ms={msOf(account.createdUnix)} />
        </Fact>
        <Fact title={texts.connections}>
          {connections !== undefined && activeConnections > 0 ? (
            <a href={connections}>{activeConnections}</a>
          ) : (
            activeConnections
          )}
        </Fact>
      </dl>
      <p class="weak">{texts.never}</p>
    </>
  );
}

/** Where to use a key next, with this project's addresses but without a secret. */
function Usage({ project }: { readonly project: string }): VNode {
  const base = `${programOrigin()}/v1/monitoring/projects/${encodeURIComponent(project)}`;
  const scrape = scrapeConfiguration(`${base}/scrape-targets`);
  return (
    <details class="usage">
      <summary>{texts.usage.title}</summary>
      <p class="weak">{texts.usage.secret}</p>
      <h3>{texts.usage.promql}</h3>
      <p>{texts.usage.promqlHelp}</p>
      <p class="command">
        <code>{`${base}/promql`}</code>
        <CopyButton text={`${base}/promql`} />
      </p>
      <h3>{texts.usage.scrape}</h3>
      <p>{texts.usage.scrapeHelp}</p>
      <div class="command">
        <pre>{scrape}</pre>
        <CopyButton text={scrape} />
      </div>
    </details>
  );
}

/** As documented in docs/reading.md. */
function scrapeConfiguration(url: string): string {
  return `scrape_configs:
  - job_name: vm-monitoring
    scrape_interval: 60s
    scrape_timeout: 10s
    honor_timestamps: true
    track_timestamps_staleness: true
    authorization:
      type: Bearer
      credentials_file: /etc/prometheus/vm-monitoring.key
    http_sd_configs:
      - url: ${url}
        refresh_interval: 60s
        authorization:
          type: Bearer
          credentials_file: /etc/prometheus/vm-monitoring.key
`;
}
