/**
 * A rule over the stored history: what it would have done, and what it would have sent; which of the
 * two is open is in the address. Below a form it follows the form, saved or not.
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
  /** Of its metric. */
  readonly unit: string;
  /** The rule that the fields mean; undefined while one cannot be read. */
  readonly spec: RuleSpec | undefined;
  /** The threshold was moved on the chart. */
  readonly onThreshold: (threshold: number) => void;
}

export function RuleViews({ projectName, fields, unit, spec, onThreshold }: RuleViewsProps): VNode {
  const isReplay = query.value.get('view') === 'replay';
  // Its answer took seconds of the service's time: a look at the preview does not lose it.
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

/** The rule as far as a preview needs it: without a name, it can be evaluated too. */
function conditionOf(fields: RuleFields, unit: string): RuleSpec | undefined {
  const nameless = { displayName: texts.form.preview, labels: '', destinationNames: [] };
  return specOf({ ...fields, ...nameless, repeatIntervalSeconds: '', enabled: true }, unit);
}
