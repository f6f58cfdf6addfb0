/** The overview of a project: counts, worst incidents, silent data centers and first steps. */

import type { VNode } from 'preact';
import { displayedText } from '../../../delivery/api/notice-text.ts';
import { DataView } from '../../components/data-view.tsx';
import { NoticeBox } from '../../components/notice-box.tsx';
import { Age, ageText, msOf } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import { nowMs } from '../../data/clock.ts';
import { useLoaded } from '../../data/loaded.ts';
import { format } from '../../data/preferences.ts';
import { pageTitles } from '../../layout/texts.ts';
import { formatCount } from '../../messages/format.ts';
import { pathOf } from '../../router/match.ts';
import type { PageProps } from '../page.ts';
import { Counts, type Overview } from './counts.tsx';
import { FirstSteps } from './first-steps.tsx';
import { texts } from './texts.ts';
import { WatchedVms } from './watched-vms.tsx';
import { WorstIncidents } from './worst-incidents.tsx';

const POLL_SECONDS = 15;
const NOTICES_POLL_SECONDS = 60;

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const loader = useLoaded(
    `overview ${projectName}`,
    (options) => read('AlertService', 'getProjectOverview', { projectName }, options),
    POLL_SECONDS,
  );
  const known = loader.state.value.value;
  const rules = known?.rules;
  return (
    <>
      <h1>{pageTitles.overview}</h1>
      <DataView of={loader} lines={4}>
        {(overview) => (
          <>
            <StaleDatacenters overview={overview} />
            <ReachedLimits overview={overview} project={project} />
            <Counts overview={overview} project={project} />
          </>
        )}
      </DataView>
      <WorstIncidents project={project} />
      <section aria-labelledby="watched">
        <div class="section-head">
          <h2 id="watched">{texts.watched}</h2>
          <a href={pathOf('vms', { project })}>{texts.allVms}</a>
        </div>
        <WatchedVms project={project} />
      </section>
      <FirstSteps
        project={project}
        liveVms={known?.telemetry && Number(known.telemetry.live)}
        rules={
          rules &&
          Number(rules.applied) +
            Number(rules.pending) +
            Number(rules.failed) +
            Number(rules.paused)
        }
      />
      <Notices project={project} />
    </>
  );
}

/** While these are shown, the rest of the page is out of date. */
function StaleDatacenters({ overview }: { readonly overview: Overview }): VNode {
  const stale = overview.datacenters.filter(({ state }) => state === 'STALE');
  return (
    <>
      {stale.map(({ name, sinceUnix, vms }) => {
        const sinceMs = msOf(sinceUnix);
        return (
          <NoticeBox
            key={name}
            tone="warning"
            announce="status"
            title={texts.staleDatacenter(name)}
          >
            <p>
              {sinceMs !== undefined && `${texts.staleSince(ageText(sinceMs, nowMs.value))} `}
              {texts.staleVms(Number(vms), formatCount(Number(vms), format.value))}
            </p>
            <p>{texts.staleHelp}</p>
          </NoticeBox>
        );
      })}
    </>
  );
}

/** Warns about reached limits before they block anyone. */
function ReachedLimits(props: {
  readonly overview: Overview;
  readonly project: string;
}): VNode | null {
  const reached = props.overview.limits.filter(
    ({ used, limit }) => used !== undefined && Number(used) >= Number(limit),
  );
  if (reached.length === 0) return null;
  const descriptions = reached.map(({ description }) => description).join(', ');
  return (
    <NoticeBox tone="warning" title={texts.limitsReached(descriptions)}>
      <a href={pathOf('limits', { project: props.project })}>{texts.limitsHelp}</a>
    </NoticeBox>
  );
}

/** Messages of the service to the project's members, while their cause lasts. */
function Notices({ project }: { readonly project: string }): VNode {
  const projectName = `projects/${project}`;
  const loader = useLoaded(
    `notices ${projectName}`,
    async (options) => {
      const request = { projectName, pageSize: 50 };
      const { notices } = await read('AlertService', 'listNotices', request, options);
      return notices.filter(({ endedUnix }) => endedUnix === undefined);
    },
    NOTICES_POLL_SECONDS,
  );
  return (
    <section aria-labelledby="notices">
      <div class="section-head">
        <h2 id="notices">{texts.notices}</h2>
        <span class="buttons">
          <a href={pathOf('notices', { project })}>{texts.allNotices}</a>
          <a href={pathOf('limits', { project })}>{pageTitles.limits}</a>
        </span>
      </div>
      <DataView
        of={loader}
        lines={1}
        isEmpty={(notices) => notices.length === 0}
        empty={texts.noNotices}
      >
        {(notices) => (
          <ul class="plain-list">
            {notices.map(({ name, text, raisedUnix }) => (
              <li key={name}>
                {displayedText(text)}{' '}
                <span class="weak">
                  <Age ms={msOf(raisedUnix)} />
                </span>
              </li>
            ))}
          </ul>
        )}
      </DataView>
    </section>
  );
}
