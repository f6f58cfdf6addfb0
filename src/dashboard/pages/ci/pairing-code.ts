/**
 * Passes the pairing code from the response that contains it to the page that shows it. It is kept
 * only in memory and can be taken once: it is unavailable after a reload, on another page or on a
 * second visit.
 */
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

let handed: { readonly verification: string; readonly code: string } | undefined;

/** Keeps a code until the page of its verification opens. */
export function handOver(verification: string, code: string): void {
  handed = { verification, code };
}

/** The code while the page of the verification is open; undefined if this tab does not have it. */
export function usePairingCode(verification: string): Signal<string | undefined> {
  const first = useMemo(() => {
    const found = handed?.verification === verification ? handed.code : undefined;
    handed = undefined;
    return found;
  }, [verification]);
  const code = useSignal(first);
  useEffect(
    () => () => {
      code.value = undefined;
    },
    [code],
  );
  return code;
}
