/**
 * The settings of an embedded service: those of the settings table, with types instead of text.
 * They pass the same checks as those of `svc serve`, so nothing is declared twice.
 */
import { type Config, ConfigError, loadConfig } from '../platform/settings/config.ts';
import { type Setting, settingsTable } from '../platform/settings/settings.ts';

type Table = typeof settingsTable;

/** Parsed values without a type of their own, such as an address, are given as text. */
type Given<T> = T extends boolean | number | string
  ? T
  : T extends readonly (infer E)[]
    ? readonly (E extends string ? E : string)[]
    : string;

type ValueOf<S> = S extends Setting<infer T> ? Given<NonNullable<T>> : never;

/**
 * Settings by the name of their variable without `SVC_`, in camel case: `SVC_TLS_KEY_FILE` is
 * `tlsKeyFile`. docs/configuration.md has the meaning, unit and default of each.
 */
export type ServiceSettings = { readonly [K in keyof Table]?: ValueOf<Table[K]> | undefined };

/**
 * The checked settings, including all defaults. Throws `ConfigError` with every problem found,
 * including unknown names and empty texts.
 */
export function configOf(given: ServiceSettings): Config {
  const problems: string[] = [];
  const variables: Record<string, string> = {};
  for (const [key, value] of Object.entries(given)) {
    const name = Object.hasOwn(settingsTable, key) && settingsTable[key as keyof Table].name;
    if (!name) problems.push(`There is no setting ${key}`);
    else if (value !== undefined) {
      variables[name] = textOf(value);
      if (variables[name].trim() === '') {
        problems.push(`${key} is empty. Enter a value, or omit it to use its default`);
      }
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return loadConfig([], variables);
}

function textOf(value: boolean | number | string | readonly string[]): string {
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return Array.isArray(value) ? value.join(',') : String(value);
}
