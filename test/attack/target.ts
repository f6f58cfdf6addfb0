/**
 * The program under attack, started as a user starts it: `bin/svc.js serve` on a data folder of its
 * own, with the embedded stream, on loopback, with its peers (a CI issuer, an identity provider, an
 * endpoint for webhooks). Every process is ended by its id and every server closed.
 */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { settingsTable } from '../../src/platform/settings/settings.ts';
import { type CiIssuer, startCiIssuer } from '../support/ci-issuer.ts';
import { startOidcStandIn } from '../support/oidc-stand-in.ts';
import { type Program, runToEnd, startProgram } from '../support/program.ts';
import { Wire } from './wire.ts';

/** The only address of this machine that webhooks may reach. */
export const ALLOWED_ADDRESS = '127.99.0.1';

export interface Target {
  readonly origin: string;
  /** Its data folder. */
  readonly folder: string;
  readonly program: Program;
  readonly wire: Wire;
  readonly platform: CiIssuer;
  /** URL that accepts every webhook, `http://127.99.0.1:<port>`. */
  readonly receiverUrl: string;
  /** Secrets given to it, which must never appear in an answer or in its log. */
  readonly secrets: readonly string[];
  /** Runs `svc admin …` and returns its JSON. Throws its output on failure. */
  admin(...args: readonly string[]): Promise<Record<string, unknown>>;
  /** Resident memory in bytes; undefined after the process has ended. */
  residentBytes(): number | undefined;
  /** Stops it by SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
}

/** Collects undo functions, as a test does. */
export class Undo {
  readonly #steps: (() => unknown)[] = [];

  teardown(step: () => unknown): void {
    this.#steps.push(step);
  }

  /** Runs them in reverse order. */
  async all(): Promise<void> {
    for (const step of this.#steps.splice(0).reverse()) await step();
  }
}

/** @param limits settings beside the usual ones; settings unknown to this program are left out */
export async function startTarget(
  undo: Undo,
  limits: Readonly<Record<string, string>> = {},
): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-attack-'));
  undo.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const platform = await startCiIssuer();
  undo.teardown(() => platform.close());
  const client = { id: 'svc', secret: randomBytes(24).toString('hex'), email: 'no@example.test' };
  const provider = await startOidcStandIn(undo, client);
  const secretFile = `${folder}.client-secret`;
  writeFileSync(secretFile, `${client.secret}\n`, { mode: 0o600 });
  undo.teardown(() => rmSync(secretFile, { force: true }));
  const receiverUrl = await startReceiver(undo);
  const known = new Set<string>(Object.values(settingsTable).map(({ name }) => name));
  const program = await startProgram(undo, folder, {
    SVC_COLLECT: 'none',
    SVC_CI_ISSUERS: platform.setting,
    SVC_OIDC_ISSUER: provider.issuer,
    SVC_OIDC_CLIENT_ID: client.id,
    SVC_OIDC_CLIENT_SECRET_FILE: secretFile,
    SVC_WEBHOOK_ALLOW: ALLOWED_ADDRESS,
    SVC_WEBHOOK_ALLOW_HTTP: 'on',
    ...Object.fromEntries(Object.entries(limits).filter(([name]) => known.has(name))),
  });
  const origin = program.demo.baseUrl;
  const wire = new Wire(origin);
  undo.teardown(() => wire.close());
  const masterKey = readFileSync(join(folder, 'master.key'), 'utf8').trim();
  const { apiKey, collectorKey } = program.demo;
  return {
    origin,
    folder,
    program,
    wire,
    platform,
    receiverUrl,
    secrets: [client.secret, masterKey, apiKey, collectorKey],
    admin: (...args) => admin(folder, args),
    residentBytes: () => residentBytes(program.pid),
    stop: () => program.stop(),
  };
}

async function admin(folder: string, args: readonly string[]): Promise<Record<string, unknown>> {
  const { code, stdout, text } = await runToEnd(['admin', ...args, '--json', '--data', folder]);
  if (code !== 0) throw new Error(`svc admin ${args.join(' ')}: ${text}`);
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** `VmRSS` of /proc, which counts the pages in memory. */
function residentBytes(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
    return kib === undefined ? undefined : Number(kib) * 1024;
  } catch {
    return undefined;
  }
}

async function startReceiver(undo: Undo): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.end('ok'));
  });
  const port = await listen(undo, server, ALLOWED_ADDRESS);
  return `http://${ALLOWED_ADDRESS}:${port}`;
}

/** Listens on a free port until the run ends. */
export async function listen(undo: Undo, server: Server, address: string): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, address, resolve);
  });
  undo.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const bound = server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : 0;
}
