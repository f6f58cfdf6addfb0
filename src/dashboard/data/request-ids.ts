/**
 * Request ids of changes that create something, kept while their responses are missing. If the page
 * is reloaded and the same change is sent again, it has the same id, and the service responds with
 * what it already created. Only a digest of the request is stored, for this tab.
 */
import { newId } from './new-id.ts';

const KEY_PREFIX = 'svc-sent:';
/** Methods that would create a duplicate. Repeating any other change has no further effect. */
const MAKES = /\/(Create|Invite|Start|Rotate|Enrol|Send)[^/]*$/;

/** Storage of request ids. */
export type RequestIdStore = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

export interface RequestIds {
  /**
   * The id for a request: the earlier id if the response to the same request is missing, otherwise
   * a new one.
   */
  idFor(path: string, body: string): string;
  /** Records that the request was sent and that its response is missing. */
  sent(path: string, body: string, requestId: string): void;
  /** Records that the service rejected the request. */
  refused(path: string): void;
  /** Records a saved change: sending the same request afterwards is intended as a new change. */
  saved(): void;
}

/** @param open opens the store at each use, because a browser may deny it */
export function createRequestIds(open: () => RequestIdStore): RequestIds {
  const used = (use: (store: RequestIdStore) => void): void => {
    try {
      use(open());
    } catch {
      // Full or disabled: a reload loses the id.
    }
  };
  return {
    idFor(path, body) {
      let requestId: string | undefined;
      used((store) => {
        const [digest, id] = store.getItem(KEY_PREFIX + path)?.split(' ') ?? [];
        if (digest === digestOf(body)) requestId = id;
      });
      return requestId ?? newId();
    },
    sent(path, body, requestId) {
      if (!MAKES.test(path)) return;
      used((store) => store.setItem(KEY_PREFIX + path, `${digestOf(body)} ${requestId}`));
    },
    refused(path) {
      used((store) => store.removeItem(KEY_PREFIX + path));
    },
    saved() {
      used((store) => {
        const keys = Array.from({ length: store.length }, (_, i) => store.key(i) ?? '');
        for (const key of keys) if (key.startsWith(KEY_PREFIX)) store.removeItem(key);
      });
    },
  };
}

/** FNV-1a over both halves of each character, twice: distinguishes the requests of one user. */
function digestOf(text: string): string {
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ (code + i), 0x85ebca6b);
  }
  return `${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}`;
}
