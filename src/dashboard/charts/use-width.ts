/** Width of an element, px, followed as the page changes: charts draw text and touch areas unscaled. */
import { type Signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/** Without padding and frame. It is there before anything is painted: nothing is drawn twice. */
export function useWidth(element: RefObject<Element | null>): Signal<number> {
  const width = useSignal(0);
  useLayoutEffect(() => {
    if (element.current === null) return undefined;
    width.value = innerWidthOf(element.current);
    const observer = new ResizeObserver(([entry]) => {
      if (entry !== undefined) width.value = Math.floor(entry.contentRect.width);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element, width]);
  return width;
}

function innerWidthOf(element: Element): number {
  const { paddingLeft, paddingRight } = getComputedStyle(element);
  // Zero while it is not shown, as an observer says it.
  const padding = Number.parseFloat(paddingLeft) + Number.parseFloat(paddingRight);
  return Math.max(0, Math.floor(element.clientWidth - padding));
}
