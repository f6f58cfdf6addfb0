/**
 * Last step of the wizard: what to remove, what to set, and the first exchange as soon as it
 * happens.
 */
import type { VNode } from 'preact';
import { DataView } from '../../components/data-view.tsx';
import { NoticeBox } from '../../components/notice-box.tsx';
import { msOf, Time } from '../../components/time.tsx';
import { Variables } from './parts.tsx';
import { type Connection, useConnection, WATCH_SECONDS } from './queries.ts';
import { RefusalList } from './refusals.tsx';
import { texts as all } from './texts.ts';

const texts = all.cleanUp;

export function CleanUp({ connectionName }: { readonly connectionName: string }): VNode {
  const connection = useConnection(connectionName, WATCH_SECONDS);
  return (
    <DataView of={connection} lines={6}>
      {(value) => (
        <>
          <ol class="wizard-acts">
            <li>
              <h2>{texts.remove}</h2>
              <p>{texts.removeHelp}</p>
            </li>
            <li>
              <h2>{texts.variables}</h2>
              <Variables connection={value} />
            </li>
            <li>
              <h2>{texts.use}</h2>
              <p>{texts.useHelp}</p>
              <FirstExchange connection={value} />
            </li>
          </ol>
          <p>
            <a class="button" href={`/${value.name}`}>
              {texts.open}
            </a>
          </p>
        </>
      )}
    </DataView>
  );
}

function FirstExchange({ connection }: { readonly connection: Connection }): VNode {
  const exchangedMs = msOf(connection.lastExchangeUnix);
  if (exchangedMs !== undefined) {
    return (
      <NoticeBox tone="good" title={texts.first} announce="status">
        <Time ms={exchangedMs} />
      </NoticeBox>
    );
  }
  return (
    <>
      <NoticeBox tone="info" title={texts.waiting} announce="status">
        {texts.waitingHelp}
      </NoticeBox>
      {connection.recentRefusals.length > 0 && (
        <>
          <p>{texts.refused}:</p>
          <RefusalList refusals={connection.recentRefusals.slice(0, 1)} />
        </>
      )}
    </>
  );
}
