/**
 * Maps errors to messages that a caller may see. A refusal keeps its reason; a failure of storage
 * becomes NOT_READY; any other error is logged and returned as an internal error.
 */
import { Code, ConnectError, type Interceptor } from '@connectrpc/connect';
import { LIMIT_NAMES } from '../../../actors/platform/project-limits.ts';
import { HistoryError } from '../../../sqlite/telemetry/history/history-error.ts';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { StreamMisconfigured, StreamUnavailable } from '../../../streams/platform/stream.ts';
import { DAMAGED, isDamage, type RecordDamage } from '../damage.ts';
import { toConnectError } from '../errors.ts';
import { classOfMethod } from '../gate/call-classes.ts';
import type { ProjectBounds } from '../gate/project-gate.ts';
import type { Log } from '../log.ts';

const STREAM_AWAY = 'The stream is not responding: send the same request again';
const STOPPING = 'The service is stopping: send the same request again';

/**
 * Wraps every handler.
 *
 * @param recordRefusal counts a call that would have exceeded a limit of its project
 * @param recordDamage counts a call that needed damaged data
 */
export function mapErrors(
  log: Log,
  recordRefusal?: ProjectBounds['recordRefusal'],
  recordDamage?: RecordDamage,
): Interceptor {
  return (next) => async (request) => {
    try {
      return await next(request);
    } catch (error) {
      if (error instanceof Refusal && error.reason === 'LIMIT_EXCEEDED') {
        const { of } = error.metadata;
        const limit = LIMIT_NAMES.find((name) => name === of) ?? 'other';
        recordRefusal?.(limit, classOfMethod(request.method));
      }
      recordDamage?.(error);
      throw asConnectError(error, request.method.name, log, request.signal);
    }
  };
}

/**
 * The error as a caller may see it.
 *
 * @param signal of the call, so that its end is not mistaken for a fault
 */
export function asConnectError(
  error: unknown,
  method: string,
  log: Log,
  signal?: AbortSignal,
): ConnectError {
  if (signal?.aborted && isOfItsEnd(error, signal.reason)) return endOf(signal);
  if (error instanceof Refusal) return toConnectError(error);
  if (error instanceof ConnectError) return error;
  if (isDamage(error)) {
    log.error({ err: error, method }, 'A call needed damaged data');
    return toConnectError(new Refusal('INTERNAL', DAMAGED));
  }
  if (error instanceof StreamUnavailable) {
    // The error's text is for the operator: it names hosts, folders and servers. Health repeats it.
    return toConnectError(new Refusal('NOT_READY', STREAM_AWAY));
  }
  if (error instanceof HistoryError && error.reason === 'FAULT')
    return unforeseen(error, method, log);
  if (error instanceof HistoryError && error.reason === 'INCOMPLETE')
    return toConnectError(new Refusal('NOT_READY', error.message));
  // History closes only with the service, which waits for no replay of a rule.
  if (error instanceof HistoryError && error.reason === 'CLOSED')
    return toConnectError(new Refusal('NOT_READY', STOPPING));
  const isLost = error instanceof StreamMisconfigured;
  if (isLost || error instanceof HistoryError || isDatabaseFault(error)) {
    log.error({ err: error, method }, 'A call failed on storage');
    const message =
      'Storage is not responding. Send the same request again; the service log has the cause';
    return toConnectError(new Refusal('NOT_READY', message));
  }
  return unforeseen(error, method, log);
}

/** The client has disconnected or cancelled the call, or its own deadline has passed. */
export function endOf({ reason }: Pick<AbortSignal, 'reason'>): ConnectError {
  const isDeadline = reason instanceof ConnectError && reason.code === Code.DeadlineExceeded;
  return isDeadline ? reason : new ConnectError('The client disconnected', Code.Canceled);
}

/** Maximum errors of a chain of causes. */
const CAUSES_MAX = 8;

/**
 * True if the call failed because it ended: somewhere in its causes is the reason of its signal, an
 * abort, or a thread that stopped its work for that. Other errors are faults even then.
 */
function isOfItsEnd(error: unknown, reason: unknown): boolean {
  let one = error;
  for (let i = 0; i < CAUSES_MAX && one instanceof Error; i++) {
    if (one === reason || one.name === 'AbortError' || one.name === 'TimeoutError') return true;
    if (one instanceof HistoryError && one.reason === 'CLOSED') return true;
    one = one.cause;
  }
  return error === reason;
}

function unforeseen(error: unknown, method: string, log: Log): ConnectError {
  log.error({ err: error, method }, 'A call failed unexpectedly');
  return toConnectError(new Refusal('INTERNAL', 'Internal error; the service log has the cause'));
}

/** SQLite's errors carry a code of their own: a full disk, a locked file, a damaged one. */
function isDatabaseFault(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE_');
}
