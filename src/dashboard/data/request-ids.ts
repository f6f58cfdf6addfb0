/**
 * Request ids of changes that make something, kept while their answers are missing: when the page was
 * loaded again in between and the same is sent once more, it is the same request, and the service
 * answers with what it made then. Of the request itself only a digest is kept, for this tab.
 */
import { newId } from './new-id.ts';

const KEY_PREFIX = 'svc-sent:';
/** Methods that would make another one; any other change, sent twice, has been done. */
const MAKES = /\/(Create|Invite|Start|Rotate|Enrol|Send)[^/]*$/;

/** Where they are kept. */
export type RequestIdStore = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

export interface RequestIds {
  /** The id for a request: of the same one, where its answer is missing, else a new one. */
  idFor(path: string, body: string): string;
  /** It goes out: from now on its answer is missing. */
  sent(path: string, body: string, requestId: string): void;
  /** The service has refused it. */
  refused(path: string): void;
  /** Something was saved: what was sent before would be made once more on purpose. */
  saved(): void;
}

/** @param open the store, asked for at each use: a browser may refuse it */
export function createRequestIds(open: () => RequestIdStore): RequestIds {
  const used = (use: (store: RequestIdStore) => void): void => {
    try {
      use(open());
    } catch {
      // Full or switched off: a reload loses the id.
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

/** FNV-1a over both halves of each character, twice: distinguishes the requests of one person. */
function digestOf(text: string): string {
  let [a, b] = [0x811c9dc5, 0x01000193];
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ (code + i), 0x85ebca6b);
  }
  return `${(a >>> 0).toString(36)}.${(b >>> 0).toString(36)}`;
}
