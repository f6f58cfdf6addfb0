/** The project's rules by name, for pages that have only their resource names. */
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import { loadPages } from '../../data/pages.ts';
import type { ResponseOf } from '../../data/rpc-types.ts';

type Rule = ResponseOf<'AlertService', 'listAlertRules'>['rules'][number];

/** More than a project may have. */
const RULES_MAX = 1_000;

/** By resource name; empty until they are loaded: then ids are shown. */
export function useRules(projectName: string): ReadonlyMap<string, Rule> {
  const rules = useLoaded(`rules ${projectName}`, (options) =>
    loadPages<Rule>(async (pageToken) => {
      const request = { projectName, pageSize: 1_000, pageToken };
      const answer = await read('AlertService', 'listAlertRules', request, options);
      return { items: answer.rules, nextPageToken: answer.nextPageToken };
    }, RULES_MAX),
  );
  return new Map((rules.state.value.value?.items ?? []).map((rule) => [rule.name, rule]));
}
