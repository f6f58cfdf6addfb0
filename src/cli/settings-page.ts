/**
 * The settings table for people: the text of `svc help serve` and the page `docs/configuration.md`.
 * Both are generated from the table, so neither can become outdated; a test compares the committed
 * page with this one.
 */
import {
  flagOf,
  namesOfOthers,
  type Setting,
  settingsTable,
} from '../platform/settings/settings.ts';

const settings: readonly Setting<unknown>[] = Object.values(settingsTable);
const LINE_WIDTH = 92;

/** Settings for the terminal: one wrapped paragraph each. */
export function settingsHelp(): string {
  return settings
    .map((setting) => {
      const head = `  --${flagOf(setting.name)}, ${setting.name}`;
      const facts = `Takes ${takes(setting)}. Default: ${defaultOf(setting)}.`;
      return [head, ...wrap(`${setting.help} ${facts}`).map((line) => `      ${line}`)].join('\n');
    })
    .join('\n\n');
}

/** The complete page `docs/configuration.md`. */
export function settingsPage(): string {
  const rows = settings.map(
    (setting) =>
      `| \`${setting.name}\` | \`--${flagOf(setting.name)}\` | ${cell(defaultOf(setting))} | ` +
      `${cell(takes(setting))} | ${cell(setting.help)} |`,
  );
  const others = Object.entries(namesOfOthers).map(([name, help]) => `- \`${name}\`: ${help}`);
  return [
    '# Configuration',
    '',
    'Generated from `src/platform/settings/settings.ts` by `npm run generate`.',
    '',
    'A setting is an environment variable, or a flag of `svc serve` with the same name. The flag wins; an empty variable',
    'counts as unset. Unknown names, invalid values and conflicting settings',
    'are rejected at startup, all in one message. An on-or-off flag needs no value: `--demo` means on.',
    '',
    '| variable | flag | default | takes | purpose |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    '## Names that the service knows but does not read',
    '',
    ...others,
    '- the forms that Kubernetes injects for services whose name begins with `svc` (`SVC_SERVICE_HOST`, `SVC_PORT_8080_TCP`, …): ignored with a warning',
    '',
  ].join('\n');
}

function takes(setting: Setting<unknown>): string {
  return setting.unit ? `${setting.kind.takes} (${setting.unit})` : setting.kind.takes;
}

function defaultOf(setting: Setting<unknown>): string {
  return setting.default ?? setting.defaultInWords ?? 'none';
}

function cell(content: string): string {
  return content.replaceAll('|', '\\|');
}

function wrap(paragraph: string): string[] {
  const lines: string[] = [];
  for (const word of paragraph.split(' ')) {
    const line = lines.at(-1);
    if (line !== undefined && line.length + 1 + word.length <= LINE_WIDTH) {
      lines[lines.length - 1] = `${line} ${word}`;
    } else lines.push(word);
  }
  return lines;
}
