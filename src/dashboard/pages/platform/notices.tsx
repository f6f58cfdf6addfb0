/**
 * All notices of a project, newest first: what happened, whether it is ongoing, and where to
 * continue.
 */

import type { ComponentChildren, VNode } from 'preact';
import { displayedText } from '../../../delivery/api/notice-text.ts';
import { Badge, type Tone } from '../../components/badges.tsx';
import { DataView } from '../../components/data-view.tsx';
import { ListFoot } from '../../components/list-foot.tsx';
import { msOf, Time } from '../../components/time.tsx';
import { pagesOf, useListing } from '../../data/listing.ts';
import { mayDo, type Role } from '../../data/projects.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { pageTitles } from '../../layout/texts.ts';
import { texts as shared } from '../../messages/en.ts';
import { matchPath, pathOf } from '../../router/match.ts';
import type { PageProps } from '../page.ts';
import { texts as all } from './project-texts.ts';

type Notice = ResponseOf<'AlertService', 'listNotices'>['notices'][number];

const texts = all.notices;
const ROWS = 50;
const POLL_SECONDS = 60;

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const list = useListing<Notice>(
    `all notices ${projectName}`,
    pagesOf('AlertService', 'listNotices', 'notices', { projectName, pageSize: ROWS }),
    { rows: ROWS, pollSeconds: POLL_SECONDS },
  );
  return (
    <>
      <h1>{pageTitles.notices}</h1>
      <p class="weak">{texts.about}</p>
      <DataView
        of={list}
        isEmpty={({ items, nextPageToken }) => items.length === 0 && nextPageToken === ''}
        empty={
          <>
            <strong>{texts.none}</strong>
            <p>{texts.noneHelp}</p>
          </>
        }
      >
        {({ items, nextPageToken }) => (
          <>
            <ul class="plain-list" aria-label={texts.label}>
              {items.map((notice) => (
                <Line key={notice.name} of={notice} project={project} />
              ))}
            </ul>
            {nextPageToken !== '' && <ListFoot of={list} />}
          </>
        )}
      </DataView>
    </>
  );
}

interface LineProps {
  readonly of: Notice;
  readonly project: string;
}

function Line({ of: notice, project }: LineProps): VNode {
  const { kind, text } = notice;
  const titles: Readonly<Record<string, string>> = texts.kinds;
  const { tone, word } = stateOf(notice);
  return (
    <li>
      <p class="incident-badges">
        <Badge tone={tone} text={word} /> <strong>{titles[kind] ?? kind}</strong>
      </p>
      <Sentences all={displayedText(text).split('\n')} />
      <p class="weak">
        <When of={notice} />
      </p>
      <Ways of={notice} project={project} />
    </li>
  );
}

/** Maximum number of sentences shown at first; the others open on request. */
const SENTENCES_SHOWN = 5;

function Sentences({ all }: { readonly all: readonly string[] }): VNode {
  const rest = all.slice(SENTENCES_SHOWN);
  return (
    <>
      <Lines of={all.slice(0, SENTENCES_SHOWN)} />
      {rest.length > 0 && (
        <details>
          <summary>{texts.more(rest.length)}</summary>
          <Lines of={rest} />
        </details>
      )}
    </>
  );
}

function Lines({ of }: { readonly of: readonly string[] }): VNode {
  return (
    <>
      {of.map((sentence, i) => (
        <p key={i}>{sentence}</p>
      ))}
    </>
  );
}

/** A change of access is over once recorded, because it has no ongoing cause. */
function stateOf({ kind, endedUnix }: Notice): { readonly tone: Tone; readonly word: string } {
  if (kind === 'ACCESS_CHANGED') return { tone: 'info', word: texts.noted };
  return endedUnix === undefined
    ? { tone: 'warning', word: texts.lasts }
    : { tone: 'off', word: texts.over };
}

function When({ of: { kind, raisedUnix, endedUnix } }: { readonly of: Notice }): VNode {
  const [raisedMs, endedMs] = [msOf(raisedUnix), msOf(endedUnix)];
  const isMoment = kind === 'ACCESS_CHANGED';
  return (
    <>
      {isMoment ? texts.at : texts.since} {raisedMs !== undefined && <Time ms={raisedMs} />}
      {!isMoment && endedMs !== undefined && (
        <>
          {' '}
          {texts.until} <Time ms={endedMs} />
        </>
      )}
    </>
  );
}

/** Links to the pages where the user can act on the notice. */
function Ways({ of: { kind, subjectName }, project }: LineProps): VNode {
  const needs = roleToOpen(subjectName);
  const open = wordsFor(subjectName);
  return (
    <p class="buttons">
      {needs !== undefined && mayDo(needs) && <Way href={`/${subjectName}`}>{open}</Way>}
      {needs !== undefined && !mayDo(needs) && (
        <small class="effect">{`${open}: ${shared.needsRole(needs)}`}</small>
      )}
      {kind === 'INSTANCE_LIMIT' && <Way href={pathOf('limits', { project })}>{texts.limits}</Way>}
      {kind === 'ACCESS_CHANGED' && <Way href={pathOf('audit', { project })}>{texts.trail}</Way>}
    </p>
  );
}

function wordsFor(subjectName: string): string {
  if (subjectName.includes('/vms/')) return texts.vm;
  return subjectName.includes('/alertRules/') ? texts.rule : texts.destination;
}

/** Role required for the page of the notice's subject; undefined if there is no such page. */
function roleToOpen(subjectName: string): Role | undefined {
  if (!/\/(alertRules|destinations|vms)\//.test(subjectName)) return undefined;
  const role = matchPath(`/${subjectName}`)?.route.role;
  return role === 'SIGNED_IN' ? undefined : role;
}

function Way(props: { readonly href: string; readonly children: ComponentChildren }): VNode {
  return <a href={props.href}>{props.children}</a>;
}
