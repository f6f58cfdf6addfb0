/**
 * HTTP/1.1 over bare sockets: an attacker sends what no client library would, and reads any answer.
 * A connection has one request at a time and is kept for the next one, so that a million requests
 * need no million handshakes.
 */
import { connect, type Socket } from 'node:net';
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib';

export type Header = readonly [name: string, value: string];

export interface WireRequest {
  readonly method: string;
  /** Request target as in the first line. */
  readonly path: string;
  /** Headers as sent; `content-length` is added unless `framing` is `none`. */
  readonly headers: readonly Header[];
  readonly body?: string | Uint8Array;
  readonly framing?: 'length' | 'none';
}

export interface SendOptions {
  /** Source address of the connection; all of 127.0.0.0/8 belongs to this machine. */
  readonly source?: string;
  /**
   * Timeout for the complete answer, ms; then the bytes received so far count as the answer.
   * Default 15 s.
   */
  readonly timeoutMs?: number;
  /**
   * Uses a connection of its own and closes it, so that no later request is read as this one's
   * body.
   */
  readonly isLast?: boolean;
}

export interface WireAnswer {
  /** 0 if there was no answer; `failure` says why. */
  readonly status: number;
  /** Names in lower case; values of repeated headers are joined by a comma. */
  readonly headers: ReadonlyMap<string, string>;
  /** Decoded if the coding is known. */
  readonly text: string;
  /** On `timeout`, `text` has what arrived until then. */
  readonly failure?: 'closed' | 'timeout' | 'refused' | 'not HTTP';
}

const TIMEOUT_MS = 15_000;
const NO_HEADERS: ReadonlyMap<string, string> = new Map();

/** Connections to one server. */
export class Wire {
  readonly #port: number;
  readonly #host: string;
  readonly #free = new Map<string, Connection[]>();
  readonly #open = new Set<Connection>();

  constructor(origin: string) {
    const { hostname, port } = new URL(origin);
    this.#host = hostname;
    this.#port = Number(port);
  }

  /** Never rejects: the answer describes any failure. */
  async send(request: WireRequest, options: SendOptions = {}): Promise<WireAnswer> {
    const { source = '127.0.0.1', timeoutMs = TIMEOUT_MS, isLast = false } = options;
    for (;;) {
      const kept = isLast ? undefined : this.#free.get(source)?.pop();
      if (kept && !kept.isUsable) continue;
      const connection = kept ?? this.#connect(source);
      const answer = await connection.exchange(request, timeoutMs);
      if (isLast) connection.end();
      if (connection.isUsable) this.#keep(source, connection);
      else this.#open.delete(connection);
      // The server may close a kept connection just as it is used; that is not an answer.
      if (kept && answer.failure === 'closed' && !kept.hasRead) continue;
      return answer;
    }
  }

  /** A connection that the caller writes to directly. */
  raw(source = '127.0.0.1'): Socket {
    const socket = connect({ host: this.#host, port: this.#port, localAddress: source });
    socket.on('error', () => {});
    return socket;
  }

  close(): void {
    for (const connection of this.#open) connection.end();
    this.#open.clear();
    this.#free.clear();
  }

  #connect(source: string): Connection {
    const connection = new Connection(this.raw(source));
    this.#open.add(connection);
    return connection;
  }

  #keep(source: string, connection: Connection): void {
    const list = this.#free.get(source) ?? [];
    list.push(connection);
    this.#free.set(source, list);
  }
}

/** The request as bytes on the wire. */
export function bytesOf(request: WireRequest): Buffer {
  const { method, path, headers, body, framing = 'length' } = request;
  const content = body === undefined ? undefined : Buffer.from(body as string);
  let head = `${method} ${path} HTTP/1.1\r\n`;
  for (const [name, value] of headers) head += `${name}: ${value}\r\n`;
  if (framing === 'length' && (content || !/^(GET|HEAD|OPTIONS|DELETE)$/.test(method))) {
    head += `content-length: ${content?.length ?? 0}\r\n`;
  }
  // Latin-1 keeps each byte that a mutation has chosen.
  const start = Buffer.from(`${head}\r\n`, 'latin1');
  return content ? Buffer.concat([start, content]) : start;
}

class Connection {
  readonly #socket: Socket;
  #received: Buffer = Buffer.alloc(0);
  #settle: ((answer: WireAnswer) => void) | undefined;
  #isHead = false;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** True if any byte of the current answer has arrived. */
  hasRead = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.hasRead = true;
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
      this.#read(false);
    });
    socket.on('close', () => {
      this.#isClosed = true;
      this.#read(true);
    });
  }

  get isUsable(): boolean {
    return !this.#isClosed && this.#socket.writable && !this.#socket.destroyed;
  }

  exchange(request: WireRequest, timeoutMs: number): Promise<WireAnswer> {
    this.#isHead = request.method === 'HEAD';
    this.hasRead = false;
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#timer = setTimeout(() => this.#fail('timeout'), timeoutMs);
      if (this.#isClosed) this.#fail('closed');
      else this.#socket.write(bytesOf(request));
    });
  }

  end(): void {
    this.#socket.destroy();
  }

  #read(isEnd: boolean): void {
    if (!this.#settle) {
      // Unsolicited bytes must not become the start of the next answer.
      if (this.#received.length > 0) this.#socket.destroy();
      return;
    }
    const parsed = parse(this.#received, this.#isHead, isEnd);
    if (parsed === 'more') {
      if (isEnd) this.#fail(this.hasRead ? 'closed' : 'refused');
    } else if (parsed === 'not HTTP') this.#fail('not HTTP');
    else {
      this.#received = this.#received.subarray(parsed.length);
      if (parsed.closes) this.#socket.destroy();
      this.#finish(parsed.answer);
    }
  }

  #fail(failure: NonNullable<WireAnswer['failure']>): void {
    const text = this.#received.toString('latin1');
    const parsed = parse(this.#received, this.#isHead, true);
    const known = typeof parsed === 'string' ? undefined : parsed.answer;
    this.#socket.destroy();
    this.#finish({
      status: failure === 'timeout' ? (known?.status ?? 0) : 0,
      headers: known?.headers ?? NO_HEADERS,
      text: known?.text ?? text,
      // A refused connection counts as closed, since no byte of an answer arrived.
      failure: failure === 'refused' ? 'closed' : failure,
    });
  }

  #finish(answer: WireAnswer): void {
    clearTimeout(this.#timer);
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(answer);
  }
}

interface Parsed {
  readonly answer: WireAnswer;
  /** Bytes that the answer took. */
  readonly length: number;
  readonly closes: boolean;
}

/** @param isEnd no more bytes will arrive: an answer of unknown length is complete */
function parse(bytes: Buffer, isHead: boolean, isEnd: boolean): Parsed | 'more' | 'not HTTP' {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return bytes.length > 16 && !bytes.subarray(0, 5).equals(HTTP) ? 'not HTTP' : 'more';
  const [first = '', ...lines] = bytes.toString('latin1', 0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1]);
  if (!(status >= 100)) return 'not HTTP';
  const headers = headersOf(lines);
  const from = end + 4;
  if (status < 200) {
    const rest = parse(bytes.subarray(from), isHead, isEnd);
    return typeof rest === 'string' ? rest : { ...rest, length: rest.length + from };
  }
  const closes = /close/i.test(headers.get('connection') ?? '');
  const body = bodyOf(bytes.subarray(from), { headers, status, isHead, isEnd });
  if (body === 'more') return 'more';
  const text = decoded(body.content, headers.get('content-encoding'));
  return { answer: { status, headers, text }, length: from + body.length, closes };
}

const HTTP = Buffer.from('HTTP/');

function headersOf(lines: readonly string[]): Map<string, string> {
  const headers = new Map<string, string>();
  for (const line of lines) {
    const at = line.indexOf(':');
    const name = line.slice(0, at).toLowerCase();
    const value = line.slice(at + 1).trim();
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return headers;
}

interface Framing {
  readonly headers: ReadonlyMap<string, string>;
  readonly status: number;
  readonly isHead: boolean;
  readonly isEnd: boolean;
}

function bodyOf(bytes: Buffer, framing: Framing): { content: Buffer; length: number } | 'more' {
  const { headers, status, isHead, isEnd } = framing;
  if (isHead || status === 204 || status === 304) return { content: Buffer.alloc(0), length: 0 };
  if (headers.get('transfer-encoding') === 'chunked') return chunksOf(bytes, isEnd);
  const given = headers.get('content-length');
  const length = given === undefined ? bytes.length : Number(given);
  if (isEnd) return { content: bytes.subarray(0, length), length: Math.min(length, bytes.length) };
  if (given === undefined || bytes.length < length) return 'more';
  return { content: bytes.subarray(0, length), length };
}

function chunksOf(bytes: Buffer, isEnd: boolean): { content: Buffer; length: number } | 'more' {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at);
    const size = line < 0 ? -1 : Number.parseInt(bytes.toString('latin1', at, line), 16);
    const isWhole = size >= 0 && bytes.length >= line + 2 + size + 2;
    if (!isWhole) return isEnd ? { content: Buffer.concat(parts), length: bytes.length } : 'more';
    parts.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
    if (size === 0) return { content: Buffer.concat(parts), length: at };
  }
}

/** The decoded body; a body that cannot be decoded is returned unchanged. */
function decoded(content: Buffer, coding: string | undefined): string {
  const unpack = coding === undefined ? undefined : UNPACK[coding];
  if (!unpack || content.length === 0) return content.toString('utf8');
  try {
    return unpack(content).toString('utf8');
  } catch {
    return content.toString('latin1');
  }
}

const UNPACK: Readonly<Record<string, (content: Buffer) => Buffer>> = {
  gzip: (content) => gunzipSync(content),
  deflate: (content) => inflateSync(content),
  br: (content) => brotliDecompressSync(content),
  zstd: (content) => zstdDecompressSync(content),
};
