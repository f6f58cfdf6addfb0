/**
 * The pairing code on its way from the answer that has it to the page that shows it. It is in memory
 * alone, and taken once: a reload, another page or a second visit has none.
 */
import { type Signal, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';

let handed: { readonly verification: string; readonly code: string } | undefined;

/** Keeps a code until the page of its verification opens. */
export function handOver(verification: string, code: string): void {
  handed = { verification, code };
}

/** The code while the page of the verification is open; undefined: it is not known here. */
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
