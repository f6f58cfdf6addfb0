/** Mutations of the headers of a request. */
import type { Dice } from '../simulation/dice.ts';
import type { Draft } from './mutations.ts';
import type { Header } from './wire.ts';

const LONG = 'A'.repeat(600);

/** Possible values by header name, including names that no part of the service reads. */
const HEADER_VALUES: Readonly<Record<string, readonly string[]>> = {
  'content-type': [
    'application/json; charset=utf-16',
    'application/json;charset=UTF-8',
    'text/plain',
    'application/proto',
    '',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=b',
    'application/connect+json',
    'application/grpc',
    'application/xml',
    'application/JSON',
    'application/json, application/json',
  ],
  accept: [
    '*/*',
    'text/html',
    'application/openmetrics-text; version=1.0.0',
    'q=2',
    ';;;',
    'application/json;q=0',
  ],
  'accept-encoding': ['gzip', 'zstd', 'br', 'gzip;q=2', 'identity;q=0', '*;q=0', 'x'.repeat(300)],
  'connect-protocol-version': ['1', '2', '', '1, 1', 'one'],
  'connect-timeout-ms': ['1', '0', '-1', '99999999999999999999', 'abc', '10', '60000'],
  'connect-accept-encoding': ['gzip', 'br', 'nope'],
  authorization: [
    'Bearer',
    'Bearer ',
    'Basic YTpi',
    'bearer x',
    'Bearer svc_sk_x_y',
    'Bearer \u00ff',
    'Bearer a b',
    'Digest x',
  ],
  cookie: [
    'svc_session=',
    'svc_session=x; svc_session=y',
    '=',
    ';;;',
    `svc_session=${'%00'.repeat(9)}`,
    '__Host-svc_session=x',
  ],
  origin: ['null', 'https://evil.example', 'http://127.0.0.1', ''],
  'sec-fetch-site': ['cross-site', 'same-site', 'none', 'same-origin'],
  host: ['evil.example', '', '127.0.0.1', '127.0.0.1:1', 'a b', '[::1]', 'x'.repeat(300)],
  expect: ['100-continue', 'nonsense'],
  connection: ['close', 'upgrade', 'keep-alive, close'],
  upgrade: ['h2c', 'websocket'],
  'transfer-encoding': ['chunked', 'gzip, chunked', 'identity', 'xchunked'],
  'x-forwarded-for': ['10.0.0.1', '127.0.0.1, 10.0.0.1', '::1', 'unknown'],
  'x-forwarded-proto': ['https', 'http', 'gopher'],
  'x-http-method-override': ['DELETE', 'GET'],
  'x-request-id': ['\u00e9', 'a'.repeat(500), '../../x'],
  'if-none-match': ['*', '""', 'W/"x"'],
  range: ['bytes=0-0', 'bytes=5-1'],
  'idempotency-key': ['x'],
  'svc-sequence': ['0', '-1', 'x', '1', '1e3'],
  'user-agent': ['', 'x'.repeat(3000)],
};
const HEADER_NAMES = Object.keys(HEADER_VALUES);
/** After these, the start of the next request on the connection is ambiguous. */
const ENDS_CONNECTION = /^(transfer-encoding|expect|connection|upgrade|host|content-length)$/;

export function mutatedHeaders(draft: Draft, dice: Dice): Draft {
  const { headers } = draft;
  const roll = dice.below(10);
  if (roll === 0 && headers.length > 0) {
    const gone = dice.below(headers.length);
    return { ...draft, isRaw: true, headers: headers.filter((_, i) => i !== gone) };
  }
  if (roll === 1 && headers.length > 0)
    return { ...draft, isRaw: true, headers: [...headers, dice.pick(headers)] };
  if (roll === 2)
    return { ...draft, headers: headers.map(([name, value]) => [name.toUpperCase(), value]) };
  if (roll === 3) {
    const junk = Buffer.from(dice.bytes(1 + dice.below(30)))
      .toString('latin1')
      .replaceAll(/[\r\n]/g, ' ');
    return {
      ...draft,
      isRaw: true,
      headers: [...headers, [dice.pick(['x-junk', 'x junk', junk]), junk]],
    };
  }
  if (roll === 4 && dice.chance(0.1)) {
    return {
      ...draft,
      isRaw: true,
      headers: [
        ...headers,
        ...Array.from(
          { length: 150 },
          (_, i): Header => [`x-${i}`, LONG.slice(0, dice.below(600))],
        ),
      ],
    };
  }
  const name = dice.pick(HEADER_NAMES);
  const header: Header = [name, dice.pick(HEADER_VALUES[name] ?? [''])];
  const others = dice.chance(0.8)
    ? headers.filter(([known]) => known.toLowerCase() !== name)
    : headers;
  return {
    ...draft,
    headers: [...others, header],
    isRaw: draft.isRaw === true || ENDS_CONNECTION.test(name),
  };
}
