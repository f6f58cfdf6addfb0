/** Compares my version with theirs after a newer version of a rule was saved during an edit. */
import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { ActionButton } from '../../../components/action-button.tsx';
import { NoticeBox } from '../../../components/notice-box.tsx';
import { Table } from '../../../components/table.tsx';
import type { RuleField, RuleFields } from './rule-fields.ts';
import { texts } from './rule-texts.ts';
import { fieldTitles, fieldWords, type RuleNames } from './rule-words.ts';

export interface RuleConflictProps {
  /** Fields that differ. */
  readonly fields: readonly RuleField[];
  readonly mine: RuleFields;
  readonly theirs: RuleFields;
  readonly version: string;
  /** Who saved it; empty if unknown. */
  readonly by: string;
  readonly names: RuleNames;
  readonly isBusy: boolean;
  /**
   * True if it caused the rejection of a save: then it takes the focus. Otherwise it does not
   * interrupt the user.
   */
  readonly isAnswer: boolean;
  readonly onTakeTheirs: () => void;
  readonly onSaveMine: () => void;
}

export function RuleConflict(props: RuleConflictProps): VNode {
  const { fields, mine, theirs, version, by, names, isBusy, onTakeTheirs, onSaveMine } = props;
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (props.isAnswer) section.current?.focus();
  }, [props.isAnswer]);
  return (
    <section ref={section} class="conflict" aria-label={texts.conflict.title} tabIndex={-1}>
      <NoticeBox tone="warning" title={texts.conflict.title} announce="alert">
        <p>
          {texts.conflict.help(version)} {by !== '' && texts.conflict.byWhom(by)}
        </p>
      </NoticeBox>
      <Table
        label={texts.conflict.label}
        isPlain
        columns={[
          {
            key: 'field',
            title: texts.conflict.field,
            cell: (field) => fieldTitles[field],
          },
          {
            key: 'mine',
            title: texts.conflict.mine,
            cell: (field) => fieldWords(field, mine, names) || texts.conflict.empty,
          },
          {
            key: 'theirs',
            title: texts.conflict.theirs,
            cell: (field) => fieldWords(field, theirs, names) || texts.conflict.empty,
          },
        ]}
        rows={fields}
        keyOf={(field) => field}
      />
      <div class="buttons">
        <ActionButton
          look="quiet"
          isBusy={isBusy}
          effect={texts.conflict.takeTheirsEffect}
          onPress={onTakeTheirs}
        >
          {texts.conflict.takeTheirs}
        </ActionButton>
        <ActionButton
          needs="EDITOR"
          isBusy={isBusy}
          effect={texts.conflict.saveMineEffect}
          onPress={onSaveMine}
        >
          {texts.conflict.saveMine}
        </ActionButton>
      </div>
    </section>
  );
}
