/**
 * The CI issuers of the settings. The exact URL of an issuer is fixed at start. The address of its
 * keys is in its discovery document, below that URL, or in the setting.
 */
import { isIP } from 'node:net';
import { redactedUrl } from '../../../streams/platform/redacted-url.ts';
import { BadSetting, isLoopback, type Kind } from './setting-kinds.ts';

interface IssuerAddresses {
  /** URL of the platform's public issuer; absent: each organisation has its own. */
  readonly publicUrl?: string;
}

/** Kinds of CI platform. The claims of each kind are in `src/ci/issuer-kinds.ts`. */
const issuerAddresses = {
  github: { publicUrl: 'https://token.actions.githubusercontent.com' },
  gitlab: { publicUrl: 'https://gitlab.com' },
  buildkite: { publicUrl: 'https://agent.buildkite.com' },
  circleci: {},
} as const satisfies Readonly<Record<string, IssuerAddresses>>;

export type IssuerKindName = keyof typeof issuerAddresses;

/** A configured issuer. */
export interface Issuer {
  /** Its name in requests. */
  readonly name: string;
  readonly kind: IssuerKindName;
  /** Exact value of `iss`. */
  readonly url: string;
  /** Address of its keys; undefined: its discovery document has it. */
  readonly keysUrl: string | undefined;
}

const kindNames = Object.keys(issuerAddresses) as readonly IssuerKindName[];
const publicNames = kindNames.filter((name) => 'publicUrl' in issuerAddresses[name]);
const NAME = /^[a-z0-9][a-z0-9-]{0,30}$/;

/** Setting: names of public issuers, and `name=kind@url` for others; or `none`. */
export const ciIssuers: Kind<readonly Issuer[]> = {
  takes:
    `a comma-separated list of ${publicNames.join(', ')}, and name=kind@url for an issuer of ` +
    `your own (kinds: ${kindNames.join(', ')}), such as ` +
    'github,ghes=github@https://github.example.com/_services/token, with ;keys=url appended if ' +
    'it publishes no discovery document or has its keys on another host; or none',
  parse: (text) => {
    if (text === 'none') return [];
    const issuers = text.split(',').map((item) => parseIssuer(item.trim()));
    for (const [i, { name, url }] of issuers.entries()) {
      const others = issuers.slice(0, i);
      if (others.some((other) => other.name === name))
        throw new BadSetting((quote) => `names ${quote(name)} twice`);
      if (others.some((other) => other.url === url))
        throw new BadSetting((quote) => `has ${quote(url)} twice`);
    }
    return issuers;
  },
  displayed: displayedIssuers,
};

/** An `@` belongs to a login only after an address's scheme; one item may hold half of it. */
function displayedIssuers(text: string): string {
  const items = text.split(',').map((item) => item.trim());
  const isPlain = items.every((item) => /^[^@]*$|^[a-z0-9-]+=[a-z]+@[^@]*$/.test(item));
  if (!isPlain && !text.includes('://')) return redactedUrl(text);
  const displayed = isPlain ? text : text.replace(/(:\/\/).*@/s, '$1[redacted]@');
  return displayed.replaceAll(/[?#][^,]+/g, '?[redacted]');
}

function parseIssuer(item: string): Issuer {
  const own = /^([^=@;]*)=([^=@;]*)@([^;]*)(?:;keys=(.*))?$/.exec(item);
  const [name = '', kindName = '', url, keys] = own ? own.slice(1) : [item, item];
  const kind = kindNames.find((known) => known === kindName);
  if (!NAME.test(name) || !kind)
    throw new BadSetting((quote) => `has ${quote(item)}, which is not an issuer`);
  const known: IssuerAddresses = issuerAddresses[kind];
  const issuerUrl = url ?? known.publicUrl;
  if (issuerUrl === undefined) {
    throw new BadSetting(`has ${name} without its address: write ${name}=${kind}@https://…`);
  }
  assertExactUrl(issuerUrl);
  if (keys !== undefined) assertExactUrl(keys);
  return { name, kind, url: issuerUrl, keysUrl: keys };
}

/** `iss` is compared as text, so a form that a parser would change is refused here. */
function assertExactUrl(text: string): void {
  if (!URL.canParse(text))
    throw new BadSetting((quote) => `has ${quote(text)}, which is not an address`);
  const url = new URL(text);
  const isHttp = url.protocol === 'http:' && isLoopbackHost(url.hostname);
  if (url.protocol !== 'https:' && !isHttp) {
    throw new BadSetting(
      (quote) => `has ${quote(text)}: issuers need https (http only on loopback)`,
    );
  }
  if (url.search || url.hash || url.username || url.password) {
    throw new BadSetting((quote) => `has ${quote(url.origin)} with more than a path after it`);
  }
  if (text !== url.href && `${text}/` !== url.href) {
    throw new BadSetting(
      (quote) => `has ${quote(text)}: write it as its tokens do, ${quote(url.href)}`,
    );
  }
}

function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || (isIP(host) !== 0 && isLoopback(host));
}
