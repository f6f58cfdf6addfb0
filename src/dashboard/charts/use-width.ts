/** Width of an element, px, followed as the page changes: charts draw text and touch areas unscaled. */
import { type Signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

export function useWidth(element: RefObject<Element | null>): Signal<number> {
  const width = useSignal(0);
  useEffect(() => {
    if (element.current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) width.value = Math.floor(entry.contentRect.width);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element, width]);
  return width;
}
