/**
 * The audit trail as a file of JSON lines, assembled in the browser from the pages of the API. The
 * export can be stopped and continues after an error where it broke off. The name of a file without
 * older steps says so.
 */
import { useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Dialog } from '../../components/dialog.tsx';
import { ErrorBox } from '../../components/error-box.tsx';
import { NoticeBox } from '../../components/notice-box.tsx';
import { saveFile } from '../../components/save-file.ts';
import { read } from '../../data/call.ts';
import { nowMs, serverClock } from '../../data/clock.ts';
import { idOf } from '../../data/names.ts';
import { format } from '../../data/preferences.ts';
import { RpcError } from '../../data/rpc-error.ts';
import { texts as common } from '../../messages/en.ts';
import { formatCount, formatTime } from '../../messages/format.ts';
import { query } from '../../router/location.ts';
import { trailRequest } from './trail-request.ts';
import { texts as all } from './trail-texts.ts';

const texts = all.export;

/** The browser holds the file in memory until it is saved: about 50 MB. */
const STEPS_MAX = 50_000;
/** Page size: the service rejects responses of more than 4 MiB. */
const PAGE_STEPS = 500;

/** Progress of the export. */
interface Progress {
  /** `cut`: the file has reached its maximum number of steps, and more exist. */
  readonly is: 'ready' | 'running' | 'stopped' | 'failed' | 'cut' | 'whole';
  readonly error?: RpcError;
  readonly steps: number;
  /** Time of the oldest step so far, Unix ms. */
  readonly oldestMs?: number;
}

const READY: Progress = { is: 'ready', steps: 0 };

export function TrailExport({ projectName }: { readonly projectName: string }): VNode {
  const isOpen = useSignal(false);
  return (
    <>
      <button
        type="button"
        class="quiet"
        onClick={() => {
          isOpen.value = true;
        }}
      >
        {texts.open}
      </button>
      {isOpen.value && (
        <ExportDialog
          projectName={projectName}
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}

interface ExportDialogProps {
  readonly projectName: string;
  readonly onClose: () => void;
}

function ExportDialog({ projectName, onClose }: ExportDialogProps): VNode {
  const { progress, start, stop, save } = useExport(projectName);
  const { is, steps } = progress;
  const isPaused = is === 'stopped' || is === 'failed';
  return (
    <Dialog
      title={texts.title}
      isOpen
      onClose={onClose}
      actions={
        <>
          <button type="button" class="quiet" onClick={is === 'running' ? stop : onClose}>
            {is === 'running' ? texts.stop : common.close}
          </button>
          {(is === 'ready' || isPaused) && (
            <button type="button" class={isPaused ? 'quiet' : 'main'} onClick={start}>
              {isPaused ? texts.goOn : texts.start}
            </button>
          )}
          {is !== 'ready' && is !== 'running' && steps > 0 && (
            <button type="button" class="main" onClick={save}>
              {texts.save}
            </button>
          )}
        </>
      }
    >
      <p>{texts.help}</p>
      <p class="weak">{texts.bound(formatCount(STEPS_MAX, format.value))}</p>
      <div aria-live="polite">
        <Outcome of={progress} />
      </div>
    </Dialog>
  );
}

function Outcome({ of: { is, error, steps, oldestMs } }: { readonly of: Progress }): VNode | null {
  const count = formatCount(steps, format.value);
  const time = oldestMs && formatTime(oldestMs, nowMs.peek(), format.value);
  const sofar = [texts.soFar(count), ...(time ? [texts.downTo(time)] : [])].join(', ');
  switch (is) {
    case 'ready':
      return null;
    case 'running':
      return <p>{sofar}</p>;
    case 'whole':
      return <p>{steps === 0 ? texts.empty : texts.whole(count)}</p>;
    case 'failed':
      return error ? <ErrorBox error={error} title={`${texts.failed}: ${sofar}`} /> : null;
    case 'stopped':
      return <NoticeBox tone="warning" title={texts.stopped} children={sofar} />;
    case 'cut':
      return (
        <NoticeBox tone="warning" title={texts.cut(count)}>
          {time && texts.cutHelp(time)}
        </NoticeBox>
      );
  }
}

interface Export {
  readonly progress: Progress;
  /** Starts, or continues after a stop. */
  start(): void;
  stop(): void;
  /** Saves the loaded steps as a file. */
  save(): void;
}

/** Loads while the dialog is open; everything is discarded when it closes. */
function useExport(projectName: string): Export {
  const progress = useSignal(READY);
  const loaded = useRef({ parts: [] as string[], pageToken: '', startedMs: 0 });
  const running = useRef(new AbortController());
  useEffect(() => () => running.current.abort(), []);

  async function load(signal: AbortSignal): Promise<void> {
    const { startedMs } = loaded.current;
    // Pages run from the newest step down, so steps that arrive in the meantime are in none of
    // them.
    const filter = trailRequest(projectName, query.peek(), startedMs);
    for (;;) {
      const { pageToken, parts } = loaded.current;
      const pageSize = Math.min(PAGE_STEPS, STEPS_MAX - progress.peek().steps);
      const request = { ...filter, pageToken, pageSize };
      const answer = await read('AuditService', 'listTransitions', request, { signal });
      signal.throwIfAborted();
      const { transitions, nextPageToken } = answer;
      parts.push(transitions.map((step) => `${JSON.stringify(step)}\n`).join(''));
      loaded.current.pageToken = nextPageToken;
      const steps = progress.peek().steps + transitions.length;
      const oldest = transitions.at(-1)?.atUnixMs ?? progress.peek().oldestMs;
      const is = nextPageToken === '' ? 'whole' : steps >= STEPS_MAX ? 'cut' : 'running';
      progress.value = { is, steps, ...(oldest !== undefined && { oldestMs: Number(oldest) }) };
      if (is !== 'running') return;
    }
  }

  return {
    progress: progress.value,
    start() {
      if (progress.peek().is === 'ready') loaded.current.startedMs = serverClock.now();
      const own = new AbortController();
      running.current = own;
      const { error: _, ...before } = progress.peek();
      progress.value = { ...before, is: 'running' };
      load(own.signal).catch((error: unknown) => {
        if (own.signal.aborted) return;
        progress.value = { ...progress.peek(), is: 'failed', error: asRpcError(error) };
      });
    },
    stop() {
      running.current.abort();
      progress.value = { ...progress.peek(), is: 'stopped' };
    },
    save() {
      const { parts, startedMs } = loaded.current;
      const isWhole = progress.peek().is === 'whole';
      saveFile(parts, fileNameOf(projectName, startedMs, isWhole), 'application/jsonl');
    },
  };
}

/** `audit-demo-2026-11-23T085000Z.jsonl`, with `-incomplete` if older steps are missing. */
function fileNameOf(projectName: string, startedMs: number, isWhole: boolean): string {
  const time = new Date(startedMs).toISOString().replaceAll(':', '').replace(/\.\d+/, '');
  return `audit-${idOf(projectName)}-${time}${isWhole ? '' : '-incomplete'}.jsonl`;
}

function asRpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  return new RpcError({ code: 'unknown', reason: 'INTERNAL', message: String(error) });
}
