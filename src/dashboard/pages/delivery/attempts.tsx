/** The attempts of a delivery: the checks, the request and the response. */
import type { VNode } from 'preact';
import { Badge, type Tone } from '../../components/badges.tsx';
import { msOf, Time } from '../../components/time.tsx';
import type { ResponseOf } from '../../data/rpc-types.ts';
import { formatDuration } from '../../messages/format.ts';
import { unsentNames } from '../alerting/incidents/incident-texts.ts';
import { checkNames, outcomes, texts } from './texts.ts';

export type Delivery = ResponseOf<'AlertService', 'getDelivery'>;
type Attempt = Delivery['attempts'][number];
type Step = Delivery['steps'][number];
type Check = Step['checks'][number];

export function Attempts({ delivery }: { readonly delivery: Delivery }): VNode {
  const { attempts, steps } = delivery;
  const suppressed = steps.filter(({ event }) => event === 'suppressed');
  if (attempts.length === 0 && suppressed.length === 0) return <p>{texts.noAttempt}</p>;
  return (
    <ol class="attempts">
      {attempts.map((attempt, i) => (
        <li key={attempt.attemptId}>
          <h3>{texts.attempt(i + 1)}</h3>
          <Checks of={checksBefore(steps, attempt)} />
          <Result attempt={attempt} />
        </li>
      ))}
      {suppressed.map((step) => (
        <li key={step.atUnixMs}>
          <h3>
            {texts.notSent}, <Time ms={Number(step.atUnixMs)} />
          </h3>
          <Checks of={step.checks} />
        </li>
      ))}
    </ol>
  );
}

/** The recheck that opened the attempt names it. */
function checksBefore(steps: readonly Step[], { attemptId }: Attempt): readonly Check[] {
  return (
    steps.find((step) => step.attemptId === attemptId && step.event === 'cleared')?.checks ?? []
  );
}

function Checks({ of: checks }: { readonly of: readonly Check[] }): VNode {
  if (checks.length === 0) return <p class="weak">{texts.noChecks}</p>;
  return (
    <details open={checks.some(({ holds }) => !holds)}>
      <summary>
        {texts.checks} ({checks.length})
      </summary>
      <ul class="checks">
        {checks.map(({ check, holds, reason }) => (
          <li key={check}>
            <Badge tone={holds ? 'good' : 'critical'} text={holds ? texts.passed : texts.failed} />{' '}
            {/*
                A failed check shows the actual condition: the expected one would read as its
                opposite.
             */}
            {(holds ? undefined : unsentNames[reason]) ?? checkNames[check] ?? check}
          </li>
        ))}
      </ul>
    </details>
  );
}

const tones: Readonly<Record<string, Tone>> = {
  accepted: 'good',
  failed: 'critical',
  refused: 'critical',
  unknown: 'warning',
};

function Result({ attempt }: { readonly attempt: Attempt }): VNode {
  const { attemptId, outcome, httpStatus, error, answerExcerpt, durationMs } = attempt;
  const startedMs = msOf(attempt.startedUnix);
  return (
    <>
      <p>
        {outcome === '' ? (
          <Badge tone="waiting" text={texts.underWay} />
        ) : (
          <Badge tone={tones[outcome] ?? 'info'} text={outcomes[outcome] ?? outcome} />
        )}{' '}
        {/* The error already includes the status. */}
        {httpStatus !== undefined && error === '' && `${texts.status(httpStatus)} `}
        <span class="weak">
          {startedMs !== undefined && <Time ms={startedMs} />}
          {durationMs !== undefined && `, ${texts.took(tookText(Number(durationMs)))}`}
        </span>
      </p>
      {error !== '' && <p class="answer-error">{error}</p>}
      {answerExcerpt !== '' && (
        <figure class="answer">
          <figcaption class="weak">{texts.answer}</figcaption>
          <pre>{answerExcerpt}</pre>
        </figure>
      )}
      <p class="weak">
        <small>{texts.request(attemptId)}</small>
      </p>
    </>
  );
}

function tookText(ms: number): string {
  return ms < 10_000 ? `${ms} ms` : formatDuration(ms / 1_000);
}
