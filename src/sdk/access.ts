/** The targets to which a credential may be sent, and its sources. */

/**
 * The bearer token of each request; neither for `exchangeCiToken` alone, whose proof is its
 * request.
 */
export type TokenSource =
  | { readonly token: string; readonly getToken?: undefined }
  | {
      /** Called before each try, for tokens that are exchanged again. */
      readonly getToken: () => string | Promise<string>;
      readonly token?: undefined;
    }
  | { readonly token?: undefined; readonly getToken?: undefined };

/** Keys and access tokens, in the characters that a header may contain. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

/** Returns the bearer token of a request. Throws a `TypeError` for a text that cannot be one. */
export function tokenGetter({ token, getToken }: TokenSource): () => Promise<string | undefined> {
  if (token !== undefined) assertBearer(token);
  return async () => {
    const bearer = getToken ? await getToken() : token;
    if (bearer !== undefined) assertBearer(bearer);
    return bearer;
  };
}

/** No message contains the token itself. */
function assertBearer(token: string): void {
  if (!HEADER_SAFE.test(token)) {
    throw new TypeError(
      'The token has characters that no header can contain. Check that you copied all of it',
    );
  }
}

/** The origin alone. Throws a `TypeError` if a credential must not be sent there. */
export function confidentialOrigin(baseUrl: string): string {
  const url = new URL(baseUrl);
  if (url.username !== '' || url.pathname !== '/' || url.search !== '') {
    throw new TypeError('baseUrl must be an origin, such as https://monitoring.example.com');
  }
  if (isConfidential(url)) return url.origin;
  throw new TypeError(
    `${url.origin} is not https, so others on the network could read the credential`,
  );
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** https, or http that does not leave this machine. */
export function isConfidential({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && LOOPBACK.test(hostname));
}
