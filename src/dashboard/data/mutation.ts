/**
 * One change made by a user. Its bytes and request id are fixed when it is made and kept until the
 * service decides. While its outcome is unknown, only the identical change can be sent again.
 */
import { type Signal, signal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { type PreparedMutation, prepare } from './call.ts';
import { RpcError } from './rpc-error.ts';
import type { MutationName, RequestOf, ResponseOf, ServiceName } from './rpc-types.ts';

export type MutationState<T> =
  | { readonly kind: 'idle' }
  | { readonly kind: 'sending' }
  /** It may have been saved: `sendAgain` finds out. */
  | { readonly kind: 'unknown'; readonly error: RpcError }
  /** The service rejected it; nothing was changed. */
  | { readonly kind: 'refused'; readonly error: RpcError }
  | { readonly kind: 'done'; readonly response: T };

export interface Mutation<Request, T> {
  readonly state: Signal<MutationState<T>>;
  /** Sends a new change; ignored while one is in progress or unknown. Resolves to true if saved. */
  send(request: Request): Promise<boolean>;
  /** Sends the same bytes again. Resolves to true if saved. */
  sendAgain(): Promise<boolean>;
  /** Returns to idle, ready for another change. An unknown outcome stays unknown. */
  reset(): void;
}

export function createMutation<Request, T>(
  make: (request: Request) => PreparedMutation<T>,
): Mutation<Request, T> {
  const state = signal<MutationState<T>>({ kind: 'idle' });
  let prepared: PreparedMutation<T> | undefined;

  const transmit = async (mutation: PreparedMutation<T>): Promise<boolean> => {
    state.value = { kind: 'sending' };
    try {
      const response = await mutation.send();
      prepared = undefined;
      state.value = { kind: 'done', response };
      return true;
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      // A signed-out call decided nothing: the same bytes may be sent again after signing in.
      if (error.isSignedOut || !error.isDefinite) state.value = { kind: 'unknown', error };
      else {
        prepared = undefined;
        state.value = { kind: 'refused', error };
      }
      return false;
    }
  };

  const isOpen = (): boolean => isUnsettled(state.peek());

  return {
    state,
    async send(request) {
      if (isOpen()) return false;
      prepared = make(request);
      return await transmit(prepared);
    },
    async sendAgain() {
      if (prepared === undefined || state.peek().kind !== 'unknown') return false;
      return await transmit(prepared);
    },
    reset() {
      if (!isOpen()) state.value = { kind: 'idle' };
    },
  };
}

/**
 * A mutation while the component is mounted; leaving the page while it is open asks for
 * confirmation.
 */
export function useMutation<S extends ServiceName, N extends MutationName<S>>(
  service: S,
  method: N,
): Mutation<Omit<RequestOf<S, N>, 'requestId'>, ResponseOf<S, N>> {
  const mutation = useMemo(
    () =>
      createMutation((request: Omit<RequestOf<S, N>, 'requestId'>) =>
        prepare(service, method, request),
      ),
    [service, method],
  );
  useEffect(() => askBeforeLeaving(mutation.state), [mutation]);
  return mutation;
}

/** True while a change is in progress or its outcome is unknown. */
export function isUnsettled({ kind }: MutationState<unknown>): boolean {
  return kind === 'sending' || kind === 'unknown';
}

/**
 * Calls once each time the service has saved the change, whether at the first attempt or a later
 * one.
 */
export function useSaved<Request, T>(
  mutation: Mutation<Request, T>,
  onSaved: (response: T) => void,
): void {
  const latest = useRef(onSaved);
  latest.current = onSaved;
  useEffect(
    () =>
      mutation.state.subscribe((state) => {
        if (state.kind === 'done') latest.current(state.response);
      }),
    [mutation],
  );
}

function askBeforeLeaving(state: Signal<MutationState<unknown>>): () => void {
  const onLeave = (event: BeforeUnloadEvent): void => {
    if (isUnsettled(state.peek())) event.preventDefault();
  };
  window.addEventListener('beforeunload', onLeave);
  return () => window.removeEventListener('beforeunload', onLeave);
}
