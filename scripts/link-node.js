// Runs after `npm install`, as this project's own `prepare`: puts the pinned Node where npm's
// scripts find it first. npm 11 has already done so; npm 10 removes node_modules/.bin/node when it
// omits the Node for the other processor. Plain JavaScript, for any Node that runs npm.
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const target = `../node-linux-${process.arch}/bin/node`;
const folder = join('node_modules', '.bin');
const link = join(folder, 'node');
if (existsSync(join(folder, target)) && !existsSync(link)) {
  mkdirSync(folder, { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(target, link);
}
