/**
 * A rule on the stored history: preview and simulated notifications; the open tab is kept in the
 * address. Below a form, both follow the form, saved or not.
 */
import type { VNode } from 'preact';
import { useRef } from 'preact/hooks';
import { Tabs } from '../../../components/tabs.tsx';
import { query, setQuery } from '../../../router/location.ts';
import { type RuleFields, type RuleSpec, specOf } from './rule-fields.ts';
import { RulePreview } from './rule-preview.tsx';
import { RuleReplay } from './rule-replay.tsx';
import { texts } from './rule-texts.ts';

export interface RuleViewsProps {
  readonly projectName: string;
  readonly fields: RuleFields;
  /** Unit of its metric. */
  readonly unit: string;
  /** The rule described by the fields; undefined while one cannot be parsed. */
  readonly spec: RuleSpec | undefined;
  /** Called when the threshold is moved on the chart. */
  readonly onThreshold: (threshold: number) => void;
}

export function RuleViews({ projectName, fields, unit, spec, onThreshold }: RuleViewsProps): VNode {
  const isReplay = query.value.get('view') === 'replay';
  // A replay takes seconds of the service's time, so switching to the preview keeps its result.
  const wasReplayed = useRef(isReplay);
  wasReplayed.current ||= isReplay;
  return (
    <Tabs
      label={texts.form.views}
      tabs={[
        { key: 'preview', title: texts.form.preview },
        { key: 'replay', title: texts.form.replay },
      ]}
      open={isReplay ? 'replay' : 'preview'}
      onOpen={(key) => setQuery({ view: key === 'replay' ? key : undefined })}
    >
      {wasReplayed.current && (
        <div hidden={!isReplay}>
          <RuleReplay projectName={projectName} spec={spec} />
        </div>
      )}
      {!isReplay && (
        <RulePreview
          projectName={projectName}
          spec={conditionOf(fields, unit)}
          onThreshold={onThreshold}
        />
      )}
    </Tabs>
  );
}

/** The rule as far as a preview needs it: it can be evaluated without a name. */
function conditionOf(fields: RuleFields, unit: string): RuleSpec | undefined {
  const nameless = { displayName: texts.form.preview, labels: '', destinationNames: [] };
  return specOf({ ...fields, ...nameless, repeatIntervalSeconds: '', enabled: true }, unit);
}
