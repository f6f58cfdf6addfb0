/** Width of an element, px, updated when it changes: charts draw text and touch areas unscaled. */
import { type Signal, useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/**
 * Content width, without padding and border. Known before the first paint, so nothing is drawn
 * twice.
 */
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
  // Observers report zero while the element is hidden.
  const padding = Number.parseFloat(paddingLeft) + Number.parseFloat(paddingRight);
  return Math.max(0, Math.floor(element.clientWidth - padding));
}
