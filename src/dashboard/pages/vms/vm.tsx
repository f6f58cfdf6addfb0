/** One VM: its newest readings, its history, its open incidents, and expanded monitoring. */

import type { VNode } from 'preact';
import { StateBadge } from '../../components/badges.tsx';
import { DataView } from '../../components/data-view.tsx';
import { Fact } from '../../components/fact.tsx';
import { NoticeBox } from '../../components/notice-box.tsx';
import { Age, ageText, msOf } from '../../components/time.tsx';
import { read } from '../../data/call.ts';
import type { Vm } from '../../data/catalogue.ts';
import { nowMs } from '../../data/clock.ts';
import { useLoaded } from '../../data/loaded.ts';
import { format } from '../../data/preferences.ts';
import { pageTitles } from '../../layout/texts.ts';
import { formatCount } from '../../messages/format.ts';
import { AboveTitle } from '../above-title.tsx';
import type { PageProps } from '../page.ts';
import { useTitle } from '../title.ts';
import { ExpandedMonitoring, expandedText } from './expanded-monitoring.tsx';
import { Reading, VmState } from './readings.tsx';
import { texts as all } from './texts.ts';
import { Instances, OpenIncidents } from './vm-alerts.tsx';
import { VmHistory } from './vm-history.tsx';

const texts = all.vm;
const POLL_SECONDS = 30;

export function Page({ parameters }: PageProps): VNode {
  const { project = '', vm = '' } = parameters;
  const name = `projects/${project}/vms/${vm}`;
  const loader = useLoaded(
    name,
    (options) => read('MonitoringService', 'getVMMonitoring', { name }, options),
    POLL_SECONDS,
  );
  const known = loader.state.value.value;
  // The id in the address is not displayed until the VM is known to exist.
  const title = known === undefined ? pageTitles.vm : known.displayName || vm;
  useTitle(title);
  return (
    <>
      <AboveTitle list="vms" project={project} />
      <h1 class="name">{title}</h1>
      <DataView of={loader} lines={4}>
        {(loaded) => (
          <>
            <Staleness vm={loaded} />
            <Facts vm={loaded} />
          </>
        )}
      </DataView>
      {known !== undefined && (
        <>
          <OpenIncidents project={project} name={name} />
          <VmHistory name={name} isExpanded={known.expandedMonitoring} />
          <Instances project={project} name={name} />
          <ExpandedMonitoring vm={known} title={title} onChanged={loader.reload} />
        </>
      )}
    </>
  );
}

/** Above everything: whether the data below is current. */
function Staleness({ vm }: { readonly vm: Vm }): VNode | null {
  const observedMs = msOf(vm.telemetry?.lastObservedUnix);
  switch (vm.telemetry?.state) {
    case 'STALE':
      return (
        <NoticeBox
          tone="warning"
          announce="status"
          title={texts.stale(ageText(observedMs ?? nowMs.value, nowMs.value))}
        >
          {texts.staleHelp}
        </NoticeBox>
      );
    case 'NEVER':
      return (
        <NoticeBox tone="info" title={texts.never}>
          {texts.neverHelp}
        </NoticeBox>
      );
    case 'ERROR':
      return (
        <NoticeBox tone="error" title={texts.unreadable}>
          {texts.unreadableHelp}
        </NoticeBox>
      );
    default:
      return null;
  }
}

function Facts({ vm }: { readonly vm: Vm }): VNode {
  const { telemetry, datacenter, vcpus, cpuUtilizationPct, memoryUsedBytes, name, expanded } = vm;
  const { state, stateObservedUnix } = vm;
  return (
    <dl class="facts wide">
      <Fact title={all.state}>
        <VmState vm={vm} /> {/* The state itself shows its age. */}
        {state !== 'UNKNOWN' && <Age ms={msOf(stateObservedUnix)} />}
      </Fact>
      <Fact title={all.telemetry}>
        {telemetry && <StateBadge value={telemetry.state} />}{' '}
        {/* For a stale VM, the state and the notice show it. */}
        {telemetry?.state !== 'STALE' && <Age ms={msOf(telemetry?.lastObservedUnix)} />}
      </Fact>
      <Fact title={all.cpu}>
        <Reading value={cpuUtilizationPct} unit="percent" state={state} />
      </Fact>
      <Fact title={all.memory}>
        <Reading value={memoryUsedBytes} unit="bytes" state={state} />
      </Fact>
      {vcpus !== undefined && <Fact title={all.vcpus}>{formatCount(vcpus, format.value)}</Fact>}
      <Fact title={all.datacenter}>{datacenter}</Fact>
      <Fact title={all.expanded.title}>
        <a href="#expanded">{expanded && expandedText(expanded)}</a>
      </Fact>
      <Fact title={all.resourceName}>
        <code>{name}</code>
      </Fact>
    </dl>
  );
}
