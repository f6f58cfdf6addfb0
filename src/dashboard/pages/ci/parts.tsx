/**
 * Shared parts of the keyless CI pages: claims, permissions, variables and reasons for refusals.
 */

import type { Signal } from '@preact/signals';
import { type ComponentChildren, Fragment, type VNode } from 'preact';
import { Badge, StateBadge } from '../../components/badges.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { CheckField, FieldGroup, TextField } from '../../components/fields.tsx';
import { type Column, Table } from '../../components/table.tsx';
import { programOrigin } from '../../router/location.ts';
import type { Claim, Connection, Verification } from './queries.ts';
import { texts as all, capabilityNames } from './texts.ts';

const texts = all.review;

/**
 * Absent and empty values are different and look different. A long value wraps between its parts.
 */
function ClaimValue({ value }: { readonly value: string | undefined }): VNode {
  if (value === undefined) return <span class="weak">{texts.absent}</span>;
  if (value === '') return <span class="weak">{texts.empty}</span>;
  return (
    <code>
      {value.split(/(?<=[/@])/).map((part, i) => (
        <Fragment key={i}>
          {i > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </code>
  );
}

/** The value as text. */
export function claimText(value: string | undefined): string {
  return value === '' ? texts.empty : (value ?? texts.absent);
}

export interface ClaimTableProps {
  readonly label: string;
  readonly claims: readonly Claim[];
  /** Claims that differ from an earlier observation, with their earlier values. */
  readonly changed?: ReadonlyMap<string, Claim>;
}

export function ClaimTable({ label, claims, changed }: ClaimTableProps): VNode {
  const columns: readonly Column<Claim>[] = [
    {
      key: 'claim',
      title: texts.claim,
      cell: ({ claim }) => <code class="claim">{claim}</code>,
    },
    {
      key: 'value',
      title: texts.value,
      width: 'grow',
      phone: 'second',
      cell: ({ claim, value }) => <Value value={value} before={changed?.get(claim)} />,
    },
    {
      key: 'use',
      title: texts.use,
      cell: ({ bound }) => (
        <Badge tone={bound ? 'good' : 'off'} text={bound ? texts.bound : texts.kept} />
      ),
    },
    {
      key: 'why',
      title: texts.why,
      width: 'grow',
      phone: 'second',
      cell: ({ why }) => <small class="weak">{why}</small>,
    },
  ];
  return <Table label={label} columns={columns} rows={claims} keyOf={({ claim }) => claim} />;
}

function Value(props: { value: string | undefined; before: Claim | undefined }): VNode {
  const { value, before } = props;
  if (before === undefined) return <ClaimValue value={value} />;
  return (
    <>
      <ClaimValue value={value} /> <Badge tone="warning" text={texts.changed} />{' '}
      <span class="weak">{texts.was(claimText(before.value))}</span>
    </>
  );
}

export interface PermissionsProps {
  readonly legend: string;
  readonly help: ComponentChildren;
  /** Selectable permissions. */
  readonly offered: readonly string[];
  readonly chosen: readonly string[];
  readonly onChange: (chosen: string[]) => void;
}

export function Permissions(props: PermissionsProps): VNode {
  const { legend, help, offered, chosen, onChange } = props;
  return (
    <FieldGroup legend={legend} help={help}>
      {offered.map((capability) => (
        <CheckField
          key={capability}
          label={
            <>
              {capabilityNames[capability] ?? capability} <code>{capability}</code>
            </>
          }
          isChecked={chosen.includes(capability)}
          onChange={(isChecked) =>
            onChange(
              offered.filter((one) => (one === capability ? isChecked : chosen.includes(one))),
            )
          }
        />
      ))}
    </FieldGroup>
  );
}

/** Variables that the job needs for the exchange. The pages and the API share one origin. */
export function Variables({ connection }: { readonly connection: Connection }): VNode {
  const variables = [
    ['SVC_TRUST', connection.name],
    ['SVC_AUDIENCE', connection.audience],
    ['SVC_ENDPOINT', programOrigin()],
  ] as const;
  return (
    <>
      <dl class="facts variables">
        {variables.map(([name, value]) => (
          <CopiedFact key={name} title={name} value={value} />
        ))}
      </dl>
      <CopyButton
        text={variables.map(([name, value]) => `${name}=${value}\n`).join('')}
        label={all.variables.all}
      />
      <p class="weak">{all.variables.help}</p>
    </>
  );
}

/** A value with a copy button and its name. */
export function CopiedFact(props: { readonly title: string; readonly value: string }): VNode {
  return (
    <div>
      <dt>{props.title}</dt>
      <dd class="command">
        <code>{props.value}</code>
        <CopyButton text={props.value} />
      </dd>
    </div>
  );
}

/** Field for the name of a connection. */
export function NameField(props: { readonly label: string; readonly name: Signal<string> }): VNode {
  const { label, name } = props;
  return (
    <TextField
      label={label}
      value={name.value}
      maxLength={100}
      onInput={(value) => {
        name.value = value;
      }}
    />
  );
}

/** State of a verification in words. Observed does not mean approved. */
export function VerificationState({ state }: { readonly state: Verification['state'] }): VNode {
  if (state === 'OBSERVED') return <Badge tone="waiting" text={all.wizard.awaitsReview} />;
  return <StateBadge value={state} />;
}
