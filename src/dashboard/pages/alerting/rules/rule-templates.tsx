/** Rule templates, one for each common need: the next step if there are no rules yet. */
import type { VNode } from 'preact';
import { DataView } from '../../../components/data-view.tsx';
import { read } from '../../../data/call.ts';
import type { Metric } from '../../../data/catalogue.ts';
import { unitOf } from '../../../data/catalogue.ts';
import { type Loader, useLoaded } from '../../../data/loaded.ts';
import { format } from '../../../data/preferences.ts';
import { mayDo } from '../../../data/projects.ts';
import type { ResponseOf } from '../../../data/rpc-types.ts';
import { texts as common } from '../../../messages/en.ts';
import { pathOf } from '../../../router/match.ts';
import { texts } from './rule-texts.ts';
import { conditionWords } from './rule-words.ts';

export type RuleTemplate = ResponseOf<
  'AlertService',
  'listAlertRuleTemplates'
>['templates'][number];

export function useRuleTemplates(projectName: string): Loader<readonly RuleTemplate[]> {
  return useLoaded(`templates ${projectName}`, async (options) => {
    const answer = await read('AlertService', 'listAlertRuleTemplates', { projectName }, options);
    return answer.templates;
  });
}

export interface RuleTemplatesProps {
  readonly project: string;
  readonly metrics: readonly Metric[];
}

/** Each with its purpose and limitation; users who may save rules can start from one. */
export function RuleTemplates({ project, metrics }: RuleTemplatesProps): VNode {
  const templates = useRuleTemplates(`projects/${project}`);
  const path = pathOf('newAlertRule', { project });
  return (
    <DataView of={templates} lines={5}>
      {(list) => (
        <>
          <ul class="templates">
            {list.map(({ templateId, description, spec }) => (
              <li key={templateId}>
                <h2>{spec?.displayName || templateId}</h2>
                {spec && (
                  <p>{conditionWords(spec, unitOf(metrics, spec.metricId), format.value)}</p>
                )}
                <p class="weak">{description}</p>
                {mayDo('EDITOR') ? (
                  <a href={`${path}?template=${encodeURIComponent(templateId)}`}>
                    {texts.useTemplate}
                    <span class="visually-hidden"> {spec?.displayName}</span>
                  </a>
                ) : (
                  <small class="effect">{common.needsRole('EDITOR')}</small>
                )}
              </li>
            ))}
          </ul>
          {mayDo('EDITOR') && <a href={path}>{texts.noTemplate}</a>}
        </>
      )}
    </DataView>
  );
}
