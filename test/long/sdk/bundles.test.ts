/**
 * The SDK's package in bundles: as ES module and CommonJS for Node, and its webhook entry for
 * browsers and edge runtimes, imitated by a context that has only what those offer.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { type BuildOptions, build } from 'esbuild';
import t, { test } from 'tap';
import { assembleSdk } from '../../../scripts/release/sdk-package.ts';
import { dataFolder } from '../../support/program.ts';
import { webhookVectors } from '../../support/webhook-vectors.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const [vector] = webhookVectors.sent;
if (!vector) throw new Error('The vector is missing');

const folder = dataFolder(t);
const installed = join(folder, 'node_modules/svc-sdk');
mkdirSync(installed, { recursive: true });
assembleSdk(installed, '0.0.0');
const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8'));
for (const name of Object.keys(manifest.dependencies)) {
  const link = join(folder, 'node_modules', name);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(join(root, 'node_modules', name), link);
}
writeFileSync(join(folder, 'package.json'), '{"name": "consumer"}\n');

const { body, headers, secrets, timestampUnix } = vector;
const VERIFY = `verifyWebhook(${JSON.stringify(body)}, ${JSON.stringify(headers)},
  ${JSON.stringify(secrets)}, { now: new Date(${timestampUnix * 1000}) })`;
const WEBHOOK = `import { verifyWebhook } from 'svc-sdk/webhook';
${VERIFY}.then(({ deliveryId }) => report(deliveryId), (error) => report(String(error)));`;
const PROGRAM = `import { createClient, openSqliteDeduplicator, verifyWebhook } from 'svc-sdk';
const { deliveryId } = ${VERIFY};
const { monitoring } = createClient({ baseUrl: 'http://127.0.0.1:9', token: 'svc_x' });
const { claim } = openSqliteDeduplicator({ path: 'deliveries.db' });
process.stdout.write([claim(deliveryId), claim(deliveryId), typeof monitoring.listVMMonitoring].join());`;

/** Builds a bundle of a program. No finding, not even a warning, is expected. */
async function bundle(source: string, options: BuildOptions) {
  const built = await build({
    stdin: { contents: source, resolveDir: folder },
    bundle: true,
    write: false,
    metafile: true,
    logLevel: 'silent',
    ...options,
  });
  const { outputFiles = [], metafile, warnings } = built;
  const inputs = Object.keys(metafile?.inputs ?? {});
  return { text: outputFiles[0]?.text ?? '', inputs, warnings };
}

test('a bundle of the SDK for Node runs as ES module and as CommonJS', async (t) => {
  for (const [format, ending] of [
    ['esm', 'mjs'],
    ['cjs', 'cjs'],
  ] as const) {
    const built = await bundle(PROGRAM, { format, platform: 'node' });
    t.same(built.warnings, []);
    t.notOk(
      built.inputs.some((name) => /sqlite3|\.node$/.test(name)),
      'no native code',
    );
    const file = join(folder, `program.${ending}`);
    writeFileSync(file, built.text);
    const cwd = join(folder, format);
    mkdirSync(cwd);
    t.equal(String(execFileSync(process.execPath, [file], { cwd })), 'true,false,function');
  }
});

test('a CommonJS program requires each entry', async (t) => {
  const source = `const sdk = require('svc-sdk');
const { verifyWebhook } = require('svc-sdk/webhook');
const { openSqliteDeduplicator } = require('svc-sdk/sqlite');
process.stdout.write([sdk.createClient, verifyWebhook, openSqliteDeduplicator].map((one) => typeof one).join());`;
  const file = join(folder, 'requires.cjs');
  writeFileSync(file, source);
  t.equal(String(execFileSync(process.execPath, [file])), 'function,function,function');
});

test('the webhook entry runs where there is only Web Crypto', async (t) => {
  for (const platform of ['browser', 'neutral', 'node'] as const) {
    const built = await bundle(WEBHOOK, { format: 'iife', platform });
    t.same(built.warnings, [], platform);
    t.ok(built.text.length < 20_000, 'small');
    t.notMatch(built.text, /node:|require\(/);
    const { TextEncoder, atob, crypto } = globalThis;
    const result = new Promise((report) => {
      const context = createContext({ TextEncoder, atob, crypto, report });
      runInContext(built.text, context);
    });
    t.equal(await result, vector.deliveryId, platform);
  }
});

test('an unused SDK leaves nothing in a bundle', async (t) => {
  const built = await bundle(
    `import 'svc-sdk'; import { WEBHOOK_WINDOW_SECONDS } from 'svc-sdk';
process.stdout.write(String(WEBHOOK_WINDOW_SECONDS));`,
    { format: 'esm', platform: 'node' },
  );
  t.ok(built.text.length < 1_000, `${built.text.length} characters`);
});

test('every entry has its module and its types, even under the older type resolution', async (t) => {
  const { exports, types, typesVersions } = manifest;
  const targets = [exports['.'], exports['./webhook'], exports['./sqlite']].flatMap((one) =>
    Object.values<string>(one),
  );
  const older = Object.values<string[]>(typesVersions['*']).flat();
  for (const target of [...targets, types, ...older]) {
    t.ok(readFileSync(join(installed, target)).length > 0, target);
  }
  t.same(older, [exports['./webhook'].types, exports['./sqlite'].types]);
});
