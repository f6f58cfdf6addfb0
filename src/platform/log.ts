/**
 * The service's log: JSON lines (pino), or readable lines on a terminal, on standard error. Every
 * line passes a filter that knows the form of our secrets, because a list of field names misses a
 * secret inside an error message.
 */

import { type DestinationStream, destination, pino } from 'pino';
import type { Clock } from '../../streams/platform/clock.ts';
import { withoutLogins } from '../../streams/platform/redacted-url.ts';
import { SECRET_KINDS } from './keys.ts';

/** Facts first, then the sentence: `log.warn({ part: 'stream' }, 'The stream does not respond')`. */
export interface Log {
  debug(facts: object, message: string): void;
  info(facts: object, message: string): void;
  warn(facts: object, message: string): void;
  error(facts: object, message: string): void;
  /** A log whose lines also carry these facts. */
  child(facts: Readonly<Record<string, unknown>>): Log;
}

type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent';

export interface LogOptions {
  readonly level: LogLevel;
  /** true: text for a person; false: JSON lines. */
  readonly readable: boolean;
  readonly clock: Clock;
  /** Takes complete lines. */
  readonly write: (line: string) => void;
}

/** Field names whose values are never logged, whatever they hold. */
const SECRET_FIELDS = ['authorization', 'cookie', 'secret', 'apiKey', 'collectorKey', 'password'];

export function createLog(options: LogOptions): Log {
  const { write } = options;
  const stream: DestinationStream = {
    write: (line) => {
      const scrubbed = scrubSecrets(line);
      write(options.readable ? readableLine(scrubbed) : scrubbed);
    },
  };
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":${JSON.stringify(new Date(options.clock.now()).toISOString())}`,
      formatters: { level: (label) => ({ level: label }) },
      redact: {
        paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]),
        censor: '[redacted]',
      },
    },
    stream,
  );
}

/** Drops every line: for embedding, and for tests that ignore the log. */
export const silentLog: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLog,
};

const OUR_SECRETS = new RegExp(
  `\\b(svc_(?:${SECRET_KINDS.join('|')})_[A-Za-z0-9]+_)[A-Za-z0-9]{8,}`,
  'g',
);

/**
 * The text without the secrets of our keys and webhooks, and without tokens and passwords in
 * addresses. A key keeps its kind and id, which name it but open nothing.
 */
export function scrubSecrets(text: string): string {
  return withoutLogins(
    text
      .replaceAll(OUR_SECRETS, '$1[redacted]')
      .replaceAll(/\bwhsec_[A-Za-z0-9+/=]+/g, 'whsec_[redacted]')
      .replaceAll(/\b(Bearer\s+)(?!svc_)[^\s"'\\,]+/gi, '$1[redacted]')
      // A JWT: the beginning of a header and the two parts after it. A sealed one (JWE, RFC 7516)
      // has four, the first of which is empty if the key is the service's own. A match never starts
      // inside a word: otherwise each `eyJ` of a long run would read the whole rest.
      .replaceAll(/(?<![\w-])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){2,4}/g, '[redacted token]'),
  );
}

/** Standard error for log lines: asynchronous, so that a stuck reader does not stop the event loop. */
export function standardErrorLines(): (line: string) => void {
  const out = destination({ dest: 2, sync: false });
  return (line) => void out.write(line);
}

const LEVEL_WIDTH = 5;

/** `09:15:02.120 WARN  The stream does not respond  part=stream`, the stack on lines below. */
function readableLine(line: string): string {
  const parsed: unknown = JSON.parse(line);
  const { level, time, msg, err, ...facts } = parsed as Record<string, unknown>;
  const clock = String(time).slice(11, 23);
  const fields = Object.entries(facts).map(([name, value]) => `  ${name}=${fieldText(value)}`);
  const head = `${clock} ${String(level).toUpperCase().padEnd(LEVEL_WIDTH)} ${String(msg)}`;
  return `${head}${fields.join('')}${errorText(err)}\n`;
}

function fieldText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { stack, message } = error as { stack?: unknown; message?: unknown };
  return `\n    ${String(stack ?? message).replaceAll('\n', '\n    ')}`;
}
