/**
 * Selects the VMs of a rule to replay. By default, those on which a preview says it would have
 * fired most often; others are selected in a dialog.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { ActionButton } from '../../../components/action-button.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { read } from '../../../data/call.ts';
import type { Load } from '../../../data/loaded.ts';
import { RpcError } from '../../../data/rpc-error.ts';
import type { RequestOf, ResponseOf } from '../../../data/rpc-types.ts';
import { texts } from './replay-texts.ts';
import { VmChoice } from './vm-choice.tsx';

export type Replay = ResponseOf<'AlertService', 'replayAlertRule'>;
export type ReplayedSpec = NonNullable<RequestOf<'AlertService', 'replayAlertRule'>['spec']>;

/** Maximum number of VMs per replay. */
const VMS_MAX = 20;

export interface Suggested {
  readonly how: 'all' | 'worst' | 'first' | 'chosen';
  readonly vmNames: readonly string[];
  /** Number of VMs on which the rule would have fired, according to a preview. */
  readonly fired: number;
}

/** @param selected names of all VMs that the rule selects, in display order */
export async function suggestVms(
  requested: RequestOf<'AlertService', 'previewAlertRule'>,
  selected: readonly string[],
  options: Parameters<Load<unknown>>[0],
): Promise<Suggested> {
  if (selected.length <= VMS_MAX) return { how: 'all', vmNames: selected, fired: 0 };
  try {
    const { wouldHaveFired } = await read('AlertService', 'previewAlertRule', requested, options);
    const firings = Map.groupBy(wouldHaveFired, ({ vmName }) => vmName);
    const times = (name: string): number => Number(firings.get(name)?.length);
    const fired = selected.filter((name) => firings.has(name));
    const worst = fired.toSorted((a, b) => times(b) - times(a));
    const others = selected.filter((name) => !firings.has(name));
    const vmNames = [...worst, ...others].slice(0, VMS_MAX);
    return { how: 'worst', vmNames, fired: Math.min(fired.length, VMS_MAX) };
  } catch (error) {
    // With very many VMs a preview takes too long, while the replay covers only a few.
    if (!(error instanceof RpcError) || error.isDenied || options.signal.aborted) throw error;
    return { how: 'first', vmNames: selected.slice(0, VMS_MAX), fired: 0 };
  }
}

export interface ReplayVmsProps {
  readonly selected: readonly string[];
  /** Display names by resource name. */
  readonly names: ReadonlyMap<string, string>;
  /** Undefined for the default selection. */
  readonly chosen: readonly string[] | undefined;
  readonly onChoose: (chosen: readonly string[] | undefined) => void;
}

export function ReplayVms({ selected, names, chosen, onChoose }: ReplayVmsProps): VNode {
  const ticked = useSignal<readonly string[] | undefined>(undefined);
  const close = (): void => {
    ticked.value = undefined;
  };
  const marked = ticked.value ?? [];
  return (
    <>
      <ActionButton
        look="quiet"
        effect={chosen ? texts.chosenVms(chosen.length) : texts.chooseHelp(VMS_MAX)}
        onPress={() => {
          ticked.value = chosen ?? [];
        }}
      >
        {texts.choose}
      </ActionButton>
      <Dialog
        title={texts.choose}
        isOpen={ticked.value !== undefined}
        onClose={close}
        actions={
          <>
            <button
              type="button"
              class="quiet"
              onClick={() => {
                onChoose(undefined);
                close();
              }}
            >
              {texts.useDefault}
            </button>
            <ActionButton
              blocked={problemOf(marked)}
              onPress={() => {
                onChoose(marked);
                close();
              }}
            >
              {texts.useChosen}
            </ActionButton>
          </>
        }
      >
        <VmChoice
          vms={new Map(selected.map((name) => [name, names.get(name) ?? '']))}
          chosen={marked}
          problem={undefined}
          onChange={(vms) => {
            ticked.value = vms;
          }}
        />
      </Dialog>
    </>
  );
}

function problemOf({ length }: readonly string[]): string | undefined {
  if (length === 0) return texts.noneChosen;
  return length > VMS_MAX ? texts.tooMany(length, VMS_MAX) : undefined;
}
