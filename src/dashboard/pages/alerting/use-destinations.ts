/** The project's destinations by resource name, for pages that have only their resource names. */
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import { loadPages } from '../../data/pages.ts';
import { mayDo } from '../../data/projects.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { idOf } from './incident-words.ts';

type Destination = ResponseOf<'AlertService', 'listDestinations'>['destinations'][number];

/** More than a project may have. */
const DESTINATIONS_MAX = 1_000;

/** How a destination is called: by its display name for editors, who alone may list them. */
export function useDestinationTitles(projectName: string): (destinationName: string) => string {
  const isAllowed = mayDo('EDITOR');
  const { state } = useLoaded(`destinations ${projectName} ${isAllowed}`, (options) => {
    if (!isAllowed)
      return Promise.resolve({ items: [], nextPageToken: '', isSearchStopped: false });
    return loadPages<Destination>(async (pageToken) => {
      const request = { projectName, pageSize: 1_000, pageToken };
      const answer = await read('AlertService', 'listDestinations', request, options);
      return { items: answer.destinations, nextPageToken: answer.nextPageToken };
    }, DESTINATIONS_MAX);
  });
  const known = new Map(state.value.value?.items.map((item) => [item.name, item.displayName]));
  // A deleted destination is not listed: its id stays.
  return (name) => known.get(name) || idOf(name);
}
