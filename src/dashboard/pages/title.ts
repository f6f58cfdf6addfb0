/** The document's title while a page shows one thing of several: its name before the program's. */
import { useEffect } from 'preact/hooks';
import { PROGRAM } from '../layout/texts.ts';

/** @param name undefined while it is not known: the page's own title stays */
export function useTitle(name: string | undefined): void {
  useEffect(() => {
    if (name !== undefined && name !== '') document.title = `${name} · ${PROGRAM}`;
  }, [name]);
}
