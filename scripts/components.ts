/**
 * `npm run components`: the real programs that the tests need, and which of them are missing.
 * `install` brings them; no address and no list of packages is needed beside the checkout. The rows
 * are those of `test/support/components.ts`.
 */
import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  type Component,
  componentCache,
  componentTable,
  versionText,
} from '../test/support/components.ts';
import { CannotInstall } from './components/cannot-install.ts';
import { bring, installOnMachine } from './components/install.ts';
import { Suites, unpackedVersion } from './components/suite.ts';
import { namedBy, rowOf, tableText, usesOf } from './components/table.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const USAGE = `Usage: npm run components [-- [--json]]
       npm run components -- install [NAME...]

Shows the real components that tests need: which are here, where, and how to get the others.
"install" brings the missing ones, or those that are named, from the Debian mirror that apt is
configured with. Programs of other suites of Debian are unpacked into ${componentCache}
(DEBIAN_BIN_CACHE names another folder); the rest is installed with apt-get, which needs root.

  --json  prints one JSON array; each row has name, state, version, path, neededBy and howToGet
`;

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function complain(line: string): void {
  process.stderr.write(`npm run components: ${line}\n`);
}

function show(isJson: boolean): number {
  const names = [...componentTable.keys()];
  const uses = usesOf(ROOT, names);
  const probe = { versionText, packageVersion };
  const rows = [...componentTable].map(([name, component]) =>
    rowOf(name, component, uses.get(name) ?? [], probe),
  );
  say(isJson ? JSON.stringify(rows, null, 2) : tableText(rows, homedir()));
  return 0;
}

function packageVersion({ source }: Component): string | undefined {
  if (source.kind !== 'suite') return undefined;
  return unpackedVersion(join(componentCache, source.suite, source.package)) || undefined;
}

/** Installs all that can be installed; a component that fails does not stop the others. */
function install(words: readonly string[]): number {
  const names = namedBy(words, [...componentTable.keys()]);
  const chosen = [...componentTable].filter(([name, { source }]) => {
    return names.includes(name) && (words.length > 0 || source.kind !== 'none');
  });
  mkdirSync(componentCache, { recursive: true });
  let failures = 0;
  const attempt = (act: () => void): void => {
    try {
      act();
    } catch (error) {
      if (!(error instanceof CannotInstall)) throw error;
      failures++;
      complain(error.message);
    }
  };
  attempt(() => installOnMachine(chosen, say));
  using opened = new DisposableStack();
  let suites: Suites | undefined;
  const open = (): Suites => {
    suites ??= opened.use(new Suites(componentCache));
    return suites;
  };
  for (const component of chosen) attempt(() => bring(component, open, say));
  return failures > 0 ? 1 : 0;
}

function main(args: readonly string[]): number {
  const options = { json: { type: 'boolean' }, help: { type: 'boolean' } } as const;
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
    });
    if (values.help) {
      say(USAGE.trimEnd());
      return 0;
    }
    const [command, ...words] = positionals;
    if (command === undefined) return show(values.json ?? false);
    if (command === 'install') return install(words);
    throw new RangeError(`There is no command ${command}`);
  } catch (error) {
    if (!(error instanceof RangeError || error instanceof TypeError)) throw error;
    complain(error.message);
    process.stderr.write(`\n${USAGE}`);
    return 2;
  }
}

process.exitCode = main(process.argv.slice(2));
