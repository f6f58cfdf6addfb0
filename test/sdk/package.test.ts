/**
 * The package as others install it, `npm pack` included: its entries load as JavaScript from
 * node_modules, and their types are there and are ours.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { installPacked } from '../support/packed.ts';
import { dataFolder } from '../support/program.ts';
import { webhookVectors } from '../support/webhook-vectors.ts';

const [vector] = webhookVectors.sent;
if (!vector) throw new Error('There is no vector');

const RECEIVER = `
import { createClient, openSqliteDeduplicator, verifyWebhook } from 'svc/sdk';
const { body, headers, secrets, timestampUnix } = ${JSON.stringify(vector)};
const verified = verifyWebhook(body, headers, secrets, { now: new Date(timestampUnix * 1000) });
const deduplicator = openSqliteDeduplicator({ path: 'deliveries.db' });
const claims = [verified, verified].map(({ deliveryId }) => deduplicator.claim(deliveryId));
const { monitoring } = createClient({ baseUrl: 'http://127.0.0.1:9', token: 'svc_x' });
console.log(JSON.stringify({ verified, claims, method: typeof monitoring.listVMMonitoring }));
`;

const TYPED = `
import { createClient, type Delivery, verifyWebhook, type VerifiedWebhook } from 'svc/sdk';
const verified: VerifiedWebhook = verifyWebhook('', {}, 'whsec_');
export const id: string = verified.deliveryId;
const { alerts, prometheus } = createClient({ baseUrl: 'https://example.com', token: 'x' });
export const deliveries: Promise<Delivery[]> = alerts
  .listDeliveries({ projectName: 'projects/p', pageSize: 10 })
  .then((answer) => answer.deliveries);
export async function latest(): Promise<number | undefined> {
  const outcome = await prometheus('p').instant('up');
  return outcome.ok ? outcome.series[0]?.value : undefined;
}
`;

t.test('installed from its tarball, svc/sdk runs as JavaScript and has its types', async (t) => {
  const project = await installPacked(dataFolder(t));
  const { exports } = JSON.parse(readFileSync(join(project.packageFolder, 'package.json'), 'utf8'));
  for (const target of Object.values<object | string>(exports).flatMap((of) => Object.values(of))) {
    if (String(target).startsWith('./dist')) {
      t.ok(existsSync(join(project.packageFolder, String(target))), `${target} is in the package`);
    }
  }
  const isSource = (path: string): boolean => /\.ts$/.test(path) && !path.endsWith('.d.ts');
  t.same(project.files.filter(isSource), [], 'no file that Node would have to strip');

  const [told, right, wrong, untyped] = await Promise.all([
    project.runModule('receiver', RECEIVER),
    project.findings('typed', TYPED),
    project.findings('wrong-kind', TYPED.replace('id: string', 'id: number')),
    project.findings('wrong-name', TYPED.replace('answer.deliveries', 'answer.things')),
  ]);
  const { deliveryId, attemptId } = vector;
  t.match(JSON.parse(told), {
    verified: { deliveryId, attemptId },
    claims: [true, false],
    method: 'function',
  });
  t.equal(right, '', 'a program of that kind has no findings');
  t.match(wrong, /TS2322: Type 'string' is not assignable to type 'number'/, 'types are there');
  t.match(untyped, /TS2339: Property 'things' does not exist/, 'those of messages too');

  const svc = join(project.packageFolder, 'bin/svc.js');
  t.throws(
    () => execFileSync(process.execPath, [svc], { stdio: 'pipe', timeout: 10_000 }),
    /runs from a checkout/,
    'the command says where it runs',
  );
});
