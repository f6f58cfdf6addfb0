/**
 * Review and approval: each observed claim, individually ticked statements, and the permissions.
 * Ticks apply to one observation: they are stored by its digest, which the approval names.
 */
import { type Signal, useSignal } from '@preact/signals';
import type { VNode } from 'preact';
import { ActionButton } from '../../components/action-button.tsx';
import { CheckField, FieldGroup } from '../../components/fields.tsx';
import { MutationStatus } from '../../components/mutation-status.tsx';
import { NoticeBox } from '../../components/notice-box.tsx';
import { msOf, Time } from '../../components/time.tsx';
import type { Loader } from '../../data/loaded.ts';
import { isUnsettled, useMutation, useSaved } from '../../data/mutation.ts';
import { query } from '../../router/location.ts';
import { ClaimTable, claimText, NameField, Permissions } from './parts.tsx';
import {
  type Claim,
  changedClaims,
  useServiceAccount,
  useVerification,
  type Verification,
} from './queries.ts';
import { texts as all } from './texts.ts';

const texts = all.review;

interface ReviewProps {
  readonly projectName: string;
  readonly verification: Verification;
  readonly loader: Loader<Verification>;
}

export function Review(props: ReviewProps): VNode {
  const after = query.value.get('after');
  return after === null ? <Reviewed {...props} /> : <ReviewedAfter {...props} after={after} />;
}

/** Compares with the observation of the previous verification, once it is loaded. */
function ReviewedAfter(props: ReviewProps & { readonly after: string }): VNode {
  const before = useVerification(`${props.projectName}/ciVerifications/${props.after}`);
  return <Reviewed {...props} before={before.state.value.value?.claims} />;
}

function Reviewed(props: ReviewProps & { readonly before?: readonly Claim[] | undefined }): VNode {
  const { verification, loader, before } = props;
  const { claims, observedUnix, claimsDigest } = verification;
  const changed = changedClaims(claims, before);
  const observedMs = msOf(observedUnix);
  return (
    <section aria-labelledby="review">
      <h2 id="review">{texts.title}</h2>
      <p>{texts.help}</p>
      {observedMs !== undefined && (
        <p class="weak">
          {texts.observed} <Time ms={observedMs} />
        </p>
      )}
      {before !== undefined && before.length > 0 && <Changes count={changed.size} />}
      <ClaimTable
        label={texts.claims}
        claims={claims.filter(({ bound }) => bound)}
        changed={changed}
      />
      <details class="wizard-more">
        <summary>{texts.keptClaims}</summary>
        <ClaimTable label={texts.keptClaims} claims={claims.filter(({ bound }) => !bound)} />
      </details>
      <Approval key={claimsDigest} verification={verification} changed={changed} loader={loader} />
    </section>
  );
}

function Changes({ count }: { readonly count: number }): VNode {
  if (count === 0) return <p class="weak">{texts.noChanges}</p>;
  return (
    <NoticeBox tone="warning" title={texts.changes(count)}>
      {texts.changesHelp}
    </NoticeBox>
  );
}

interface ApprovalProps {
  readonly verification: Verification;
  readonly changed: ReadonlyMap<string, Claim>;
  readonly loader: Loader<Verification>;
}

/** State of one observation: a new digest starts without ticks. */
function Approval({ verification, changed, loader }: ApprovalProps): VNode {
  const { name, claims, warnings, claimsDigest, capabilities: requested } = verification;
  const displayName = useSignal(verification.displayName);
  const ticked = useSignal<ReadonlySet<string>>(new Set());
  const account = useServiceAccount(verification.serviceAccountName).state.value.value;
  const offered = requested.filter((one) => account?.capabilities.includes(one));
  const unchosen = useSignal<readonly string[]>([]);
  const capabilities = offered.filter((one) => !unchosen.value.includes(one));
  const approve = useMutation('AutomationService', 'approveCiVerification');
  useSaved(approve, loader.reload);
  const statements = [texts.isIt, ...warnings, ...claims.flatMap((one) => changeOf(one, changed))];
  const left = statements.filter((statement) => !ticked.value.has(statement)).length;
  return (
    <div class="form">
      <Ticks statements={statements} ticked={ticked} />
      {account && offered.length === 0 ? (
        <NoticeBox tone="warning" title={texts.nothingLeft} />
      ) : (
        <Permissions
          legend={texts.capabilities}
          help={texts.capabilitiesHelp}
          offered={offered}
          chosen={capabilities}
          onChange={(chosen) => {
            unchosen.value = offered.filter((one) => !chosen.includes(one));
          }}
        />
      )}
      <NameField label={texts.name} name={displayName} />
      <ActionButton
        needs="OWNER"
        effect={texts.approveEffect}
        blocked={blockedBy(left, capabilities)}
        isBusy={isUnsettled(approve.state.value)}
        onPress={() =>
          void approve.send({
            name,
            capabilities,
            claimsDigest,
            displayName: displayName.value.trim(),
          })
        }
      >
        {texts.approve}
      </ActionButton>
      <MutationStatus of={approve} refusedTitle={texts.refused} />
    </div>
  );
}

function blockedBy(left: number, capabilities: readonly string[]): string | undefined {
  if (left > 0) return texts.unticked(left);
  return capabilities.length === 0 ? all.start.capabilityMissing : undefined;
}

/** A statement for a claim that differs from the previous observation; undefined for others. */
function changeOf({ claim, value }: Claim, changed: ReadonlyMap<string, Claim>): string[] {
  const before = changed.get(claim);
  return before ? [texts.isChanged(claim, claimText(before.value), claimText(value))] : [];
}

function Ticks(props: {
  readonly statements: readonly string[];
  readonly ticked: Signal<ReadonlySet<string>>;
}): VNode {
  const { statements, ticked } = props;
  return (
    <FieldGroup legend={texts.ticks} help={texts.ticksHelp}>
      {statements.map((statement) => (
        <CheckField
          key={statement}
          label={statement}
          isChecked={ticked.value.has(statement)}
          onChange={(isChecked) => {
            const next = new Set(ticked.peek());
            if (isChecked) next.add(statement);
            else next.delete(statement);
            ticked.value = next;
          }}
        />
      ))}
    </FieldGroup>
  );
}
