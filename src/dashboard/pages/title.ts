/** The document's title for a page of a single resource: its name before the program's. */
import { useEffect } from 'preact/hooks';
import { PROGRAM } from '../layout/texts.ts';

/** @param name undefined until it is known; until then the page keeps its own title */
export function useTitle(name: string | undefined): void {
  useEffect(() => {
    if (name !== undefined && name !== '') document.title = `${name} · ${PROGRAM}`;
  }, [name]);
}
