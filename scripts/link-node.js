// Runs after `npm install`, as this project's own `prepare`: puts the command `svc` and the pinned
// Node into node_modules/.bin, where npm's scripts and a PATH find them first. npm 11 has already
// linked Node; npm 10 removes node_modules/.bin/node when it omits the Node for the other processor.
// Plain JavaScript, for any Node that runs npm.
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';

const folder = join('node_modules', '.bin');
linkTo('node', `../node-linux-${process.arch}/bin/node`);
linkTo('svc', '../../bin/svc.js');

function linkTo(name, target) {
  const link = join(folder, name);
  if (!existsSync(join(folder, target)) || existsSync(link)) return;
  mkdirSync(folder, { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(target, link);
}
