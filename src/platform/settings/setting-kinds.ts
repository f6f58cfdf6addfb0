/**
 * Kinds of value that a setting can have: how their text is read, and what form it must have. A
 * parser returns the checked value or throws `BadSetting` with the accepted values; it never sees a
 * setting's name, so that the one sentence about a bad value is made in one place (`config.ts`).
 */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';
import { COPIES, type Copies } from '../../../streams/platform/stream.ts';

/** How a setting's text is read, and how help and documentation describe it. */
export interface Kind<T> {
  /** The accepted values, as a phrase: `a whole number from 1 to 300`. */
  readonly takes: string;
  /** true: a flag without a value means `on`. */
  readonly isSwitch?: boolean;
  /** Throws `BadSetting`. The text is trimmed and never empty. */
  readonly parse: (text: string) => T;
  /** The text as a message may show it. Default: `redactedUrl`. */
  readonly displayed?: (text: string) => string;
}

/**
 * An invalid value; the message says why in a phrase without the setting's name. It includes parts
 * of the value only through `quote`, which leaves out possible parts of a password.
 */
export class BadSetting extends Error {
  readonly phrase: (quote: (part: string) => string) => string;
  constructor(phrase: string | BadSetting['phrase']) {
    const asFunction = typeof phrase === 'string' ? () => phrase : phrase;
    super(asFunction(() => HIDDEN_PART));
    this.name = 'BadSetting';
    this.phrase = asFunction;
  }
}

/** Replaces a part of a value that may not be shown. */
export const HIDDEN_PART = 'a part that is not shown';

/** Listen address of a server. `host` is an address without brackets; port 0 = any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A whole number, both bounds allowed. */
export function integer(min: number, max: number): Kind<number> {
  const takes = `a whole number from ${min} to ${max}`;
  return {
    takes,
    parse: (text) => {
      const value = Number(text);
      if (!/^\d+$/.test(text) || value < min || value > max) throw new BadSetting('is not');
      return value;
    },
  };
}

export const onOff: Kind<boolean> = {
  takes: 'on or off',
  isSwitch: true,
  parse: (text) => {
    const value = text.toLowerCase();
    if (['on', 'true', '1', 'yes'].includes(value)) return true;
    if (['off', 'false', '0', 'no'].includes(value)) return false;
    throw new BadSetting('is neither');
  },
};

export function choice<T extends string>(...values: readonly T[]): Kind<T> {
  return {
    takes: `one of ${values.join(', ')}`,
    parse: (text) => {
      const found = oneOf(values, text);
      if (found === undefined) throw new BadSetting('is not');
      return found;
    },
  };
}

/** Copies of a stream. */
export const copies: Kind<Copies> = {
  takes: `one of ${COPIES.join(', ')}`,
  parse: (text) => {
    const found = COPIES.find((one) => String(one) === text);
    if (found === undefined) throw new BadSetting('is not');
    return found;
  },
};

/** Comma-separated members of a closed set, each once, in the set's order. */
export function choices<T extends string>(...values: readonly T[]): Kind<readonly T[]> {
  return {
    takes: `a comma-separated list of ${values.join(', ')}`,
    parse: (text) => {
      const given = new Set<string>();
      for (const item of items(text)) {
        const found = oneOf(values, item);
        if (!found) throw new BadSetting((quote) => `has ${quote(item)}, which is not one of them`);
        given.add(found);
      }
      return values.filter((value) => given.has(value));
    },
  };
}

export const path: Kind<string> = {
  takes: 'a path',
  parse: (text) => {
    if (text.includes('\0')) throw new BadSetting('contains a NUL character');
    return text;
  },
};

/** A short display name: no control characters, no quotes, so that it is safe as a label. */
export const label: Kind<string> = {
  takes: 'up to 63 letters, digits, dots, dashes and underscores, beginning with a letter or digit',
  parse: (text) => {
    if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(text)) throw new BadSetting('is not');
    return text;
  },
};

export const labels: Kind<readonly string[]> = {
  takes: `a comma-separated list of names, each ${label.takes}`,
  parse: (text) => [...new Set(items(text).map(label.parse))],
};

/** `address:port`, `[IPv6]:port`, or `localhost:port` and `:port`, which are 127.0.0.1. */
export const listenAddress: Kind<ListenAddress> = {
  takes: 'an address and a port, such as 127.0.0.1:8080, [::1]:8080 or 0.0.0.0:8443',
  parse: (text) => {
    const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text);
    if (!match) throw new BadSetting('is not');
    const port = Number(match[3]);
    if (port > 65_535) throw new BadSetting('has a port above 65535');
    const isShort = match[2] === '' || match[2] === 'localhost';
    const host = match[1] ?? (isShort ? '127.0.0.1' : (match[2] ?? ''));
    if (isIP(host) === 0) {
      throw new BadSetting('names a host: give the address of one of this machine’s interfaces');
    }
    if (match[1] !== undefined && isIP(host) !== 6)
      throw new BadSetting('has no IPv6 address in []');
    return { host, port };
  },
};

/** A listen address, or `off`. */
export const listenAddressOrOff: Kind<ListenAddress | null> = {
  takes: `${listenAddress.takes}, or off`,
  parse: (text) => (text === 'off' || text === '0' ? null : listenAddress.parse(text)),
};

/** The origin of a web address: scheme, host and port; returned without a slash at the end. */
export const origin: Kind<string> = {
  takes: 'an http or https address without a path, such as https://monitoring.example.com',
  parse: (text) => {
    const url = parseUrl(text);
    if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new BadSetting('is not');
    const rest = url.pathname.replace(/\/$/, '') + url.search + url.hash;
    if (rest !== '') {
      throw new BadSetting((quote) => `has more than scheme, host and port (${quote(rest)})`);
    }
    if (url.username || url.password) throw new BadSetting('carries a user name or password');
    return url.origin;
  },
};

/** Several origins, comma-separated. */
export const origins: Kind<readonly string[]> = {
  takes: 'one or more http or https addresses without a path, comma-separated',
  parse: (text) => [...new Set(items(text).map(origin.parse))],
};

/** Addresses of NATS servers, and the login in them. */
export interface NatsServers {
  /** `nats://host:port` or `tls://host:port` each, without a user. */
  readonly servers: readonly string[];
  /** true: an address begins with `tls://`, so no connection goes unencrypted. */
  readonly tls: boolean;
  readonly login?:
    | { readonly user: string; readonly password: string }
    | { readonly token: string };
}

/** Servers of one NATS, comma-separated. Logins in them are secrets and must be the same in all. */
export const natsServers: Kind<NatsServers> = {
  takes:
    'one or more addresses, comma-separated, beginning with nats:// or tls://, with user:password@ ' +
    'or token@ (percent-encoded) if the servers require them',
  parse: (text) => {
    const urls = items(text).map(natsServer);
    const logins = new Set(urls.map(({ username, password }) => `${username}:${password}`));
    logins.delete(':');
    if (logins.size > 1)
      throw new BadSetting('has different logins: use the same in all addresses');
    const [login] = urls.flatMap(loginOf);
    return {
      servers: urls.map(({ protocol, host }) => `${protocol}//${host}`),
      tls: urls.some(({ protocol }) => protocol === 'tls:'),
      ...(login && { login }),
    };
  },
};

function natsServer(item: string): URL {
  const url = parseUrl(item);
  const { protocol, hostname, pathname, search, hash } = url;
  if ((protocol !== 'nats:' && protocol !== 'tls:') || hostname === '')
    throw new BadSetting('is not');
  if (pathname.replace(/^\/$/, '') + search + hash !== '') {
    throw new BadSetting('has more than a host, a port and a login');
  }
  return url;
}

function loginOf({ username, password }: URL): NonNullable<NatsServers['login']>[] {
  if (username === '' && password === '') return [];
  const user = decodedLogin(username);
  return [password === '' ? { token: user } : { user, password: decodedLogin(password) }];
}

/** A part of a login in a URL. Throws `BadSetting` if it is not percent-encoded. */
function decodedLogin(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new BadSetting(`has a login that is not percent-encoded: ${ENCODING}`);
  }
}

const ENCODING = 'write % as %25, / as %2F, # as %23, ? as %3F and @ as %40';

/**
 * One mail server. Its password may be in it: a secret. Any other part of an address is rejected.
 */
export const mailServer: Kind<string> = {
  takes:
    'smtp://host:port or smtps://host:port, with user:password@ (percent-encoded) if the server requires them',
  parse: (text) => {
    const url = parseUrl(text);
    const { protocol, hostname, pathname, search, hash, username, password } = url;
    if ((protocol !== 'smtp:' && protocol !== 'smtps:') || hostname === '') {
      throw new BadSetting('is not');
    }
    if (pathname.replace(/^\/$/, '') + search + hash !== '') {
      throw new BadSetting(
        `has more than a host, a port, a user and a password. In a password, ${ENCODING}`,
      );
    }
    for (const part of [username, password]) decodedLogin(part);
    return text;
  },
};

/** A proxy for outgoing connections. Its password may be in it: a secret. */
export const webProxy: Kind<string> = {
  takes:
    'http://host:port or https://host:port, with user:password@ (percent-encoded) if the proxy requires them',
  parse: (text) => {
    const { protocol, hostname, pathname, search, hash, username, password } = parseUrl(text);
    if ((protocol !== 'http:' && protocol !== 'https:') || hostname === '') {
      throw new BadSetting('is not');
    }
    if (pathname.replace(/^\/$/, '') + search + hash !== '') {
      throw new BadSetting(
        `has more than a host, a port, a user and a password. In a password, ${ENCODING}`,
      );
    }
    for (const part of [username, password]) decodedLogin(part);
    if (username === '' && password !== '') throw new BadSetting('has a password without a user');
    return text;
  },
};

/** Lengths of a prefix in which an IPv4 address can be (RFC 6052, section 2.2). */
const NAT64_BITS: ReadonlySet<number> = new Set([32, 40, 48, 56, 64, 96]);

/** `auto`, or prefixes of translators between IPv6 and IPv4; `off` = none. */
export const nat64Prefixes: Kind<'auto' | readonly string[]> = {
  takes:
    'auto, off, or IPv6 prefixes of 32, 40, 48, 56, 64 or 96 bits, comma-separated, such as 2001:db8:64::/96',
  parse: (text) => {
    if (text.toLowerCase() === 'auto') return 'auto';
    if (text.toLowerCase() === 'off') return [];
    return items(text).map((item) => {
      const isPrefix =
        ipaddr.IPv6.isValidCIDR(item) && NAT64_BITS.has(ipaddr.IPv6.parseCIDR(item)[1]);
      if (isPrefix) return item;
      throw new BadSetting((quote) => `has ${quote(item)}, which is none of these`);
    });
  },
};

/** An OpenID Connect issuer: compared exactly with the provider's own name. */
export const issuer: Kind<string> = {
  takes: 'an https address without a query; http only on this machine',
  parse: (text) => {
    const { protocol, hostname, search, hash, username, password } = parseUrl(text);
    if (protocol !== 'https:' && !(protocol === 'http:' && isLoopbackHost(hostname))) {
      throw new BadSetting('is not');
    }
    if (search + hash + username + password !== '') {
      throw new BadSetting('has more than scheme, host, port and path');
    }
    return text;
  },
};

/** Sender of mails: `svc@example.com`, or `Monitoring <svc@example.com>`. */
export const sender: Kind<string> = {
  takes: 'an email address, such as svc@example.com or Monitoring <svc@example.com>',
  parse: (text) => {
    if (
      !/^(?:[^<>"@,;:\\\p{C}]{1,80} <[^\s<>@,;]+@[^\s<>@,;]+>|[^\s<>@,;]+@[^\s<>@,;]+)$/u.test(text)
    ) {
      throw new BadSetting('is not');
    }
    return text;
  },
};

/**
 * Addresses of proxies, and ranges of them in CIDR form: `10.0.0.5`, `10.0.0.0/8`, `fd00::/8`. A
 * range with strangers in it would let each of them choose the address that they are counted by.
 */
export const proxyRanges: Kind<readonly string[]> = {
  takes: 'addresses and ranges, comma-separated, such as 10.0.0.5 or 10.0.0.0/8',
  parse: (text) =>
    items(text).map((item) => {
      if (!isRange(item)) throw new BadSetting((quote) => `has ${quote(item)}, which is neither`);
      if (isTooWide(item)) {
        throw new BadSetting(
          `has ${item}, which trusts strangers too: anyone there could claim any ` +
            'address. Name the proxy itself, or a network that contains only proxies',
        );
      }
      return item;
    }),
};

/** The widest private networks there are: 10.0.0.0/8 and fc00::/7. */
const PREFIX_MIN = { ipv4: 8, ipv6: 7 } as const;

function isTooWide(range: string): boolean {
  const [address = '', prefix] = range.split('/');
  if (prefix === undefined) return false;
  const parsed = ipaddr.parse(address);
  // ::ffff:0:0/96 is all of IPv4.
  const isMapped = parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress();
  const min = isMapped ? 96 + PREFIX_MIN.ipv4 : PREFIX_MIN[parsed.kind()];
  return Number(prefix) < min;
}

/** Host names as a Host header has them, without a port; in lower case. */
export const hostNames: Kind<readonly string[]> = {
  takes: 'host names, comma-separated, such as monitoring.lan, svc.monitoring.svc.cluster.local',
  parse: (text) =>
    items(text).map((item) => {
      const name = item.toLowerCase();
      if (isHostName(name)) return name;
      throw new BadSetting((quote) => `has ${quote(item)}, which is not one: leave out the port`);
    }),
};

/** Host names, addresses and ranges; names are lower-cased and match exactly. */
export const hostsAndRanges: Kind<readonly string[]> = {
  takes: 'host names, addresses and ranges, comma-separated, such as hooks.lan, 10.0.0.0/8',
  parse: (text) =>
    items(text).map((item) => {
      const name = item.toLowerCase();
      if (isRange(name)) return name;
      if (isHostName(name)) return name;
      throw new BadSetting((quote) => `has ${quote(item)}, which is none of these`);
    }),
};

/** Ports and ranges of ports, comma-separated. */
export const ports: Kind<readonly { readonly from: number; readonly to: number }[]> = {
  takes: 'ports and ranges of ports from 1 to 65535, comma-separated, such as 443, 8443-8445',
  parse: (text) =>
    items(text).map((item) => {
      const [, first = '', last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(item) ?? [];
      const [from, to] = [Number(first), Number(last)];
      if (from < 1 || to > 65_535 || to < from) {
        throw new BadSetting((quote) => `has ${quote(item)}, which is neither`);
      }
      return { from, to };
    }),
};

/** Any text; for settings that another part reads. */
export const text: Kind<string> = { takes: 'text', parse: (value) => value };

/** True if only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  return ipaddr.process(host).range() === 'loopback';
}

/** True if only this machine can reach the host of a URL. IPv6 addresses are in brackets. */
export function isLoopbackHost(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || (isIP(host) !== 0 && isLoopback(host));
}

/**
 * URL parsers read a name that ends in a number as an address, so it would never match as a name.
 */
function isHostName(name: string): boolean {
  const form = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_][a-z0-9_-]{0,62})*$/;
  return form.test(name) && !/(^|\.)(\d+|0x[0-9a-f]*)$/.test(name);
}

function isRange(item: string): boolean {
  if (isIP(item) !== 0) return true;
  const [address = '', , rest] = item.split('/');
  return isIP(address) !== 0 && rest === undefined && ipaddr.isValidCIDR(item);
}

function oneOf<T extends string>(values: readonly T[], given: string): T | undefined {
  return values.find((value) => value === given.toLowerCase());
}

function items(list: string): string[] {
  const found = list.split(',').map((item) => item.trim());
  if (found.includes('')) throw new BadSetting('has an empty item between commas');
  return found;
}

function parseUrl(given: string): URL {
  if (!URL.canParse(given)) throw new BadSetting('is not');
  return new URL(given);
}
