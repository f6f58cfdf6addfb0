/**
 * The wizard from the pairing code to the first exchange. The step is kept in the address. The
 * state of the verification determines which steps are possible; the page polls it every 3 seconds
 * until it is decided.
 */

import type { Signal } from '@preact/signals';
import type { ComponentChildren, VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { DataView } from '../../components/data-view.tsx';
import { NoticeBox } from '../../components/notice-box.tsx';
import { Time } from '../../components/time.tsx';
import type { Loader } from '../../data/loaded.ts';
import { pageTitles } from '../../layout/texts.ts';
import { query, setQuery } from '../../router/location.ts';
import { AboveTitle } from '../above-title.tsx';
import type { PageProps } from '../page.ts';
import { useTitle } from '../title.ts';
import { CleanUp } from './clean-up.tsx';
import { usePairingCode } from './pairing-code.ts';
import { VerificationState } from './parts.tsx';
import { isOpen, startPath, useVerification, type Verification, WATCH_SECONDS } from './queries.ts';
import { Reject } from './reject.tsx';
import { Review } from './review.tsx';
import { SetUp } from './set-up.tsx';
import { texts as all, refusalText } from './texts.ts';
import { stepPath, TimeLeft, type WizardStep, WizardSteps } from './wizard-frame.tsx';

const texts = all.wizard;

export function Page({ parameters }: PageProps): VNode {
  const { project = '' } = parameters;
  const projectName = `projects/${project}`;
  const name = `${projectName}/ciVerifications/${parameters.verification}`;
  const verification = useVerification(name, WATCH_SECONDS);
  const code = usePairingCode(name);
  return (
    <>
      <AboveTitle list="ciConnections" project={project} />
      {verification.state.value.value === undefined && <h1>{pageTitles.ciVerification}</h1>}
      <DataView of={verification} lines={8}>
        {(value) => (
          <Wizard
            projectName={projectName}
            verification={value}
            code={code}
            loader={verification}
          />
        )}
      </DataView>
    </>
  );
}

/** The displayed step: the one in the address, if the state allows it. */
function stepOf({ state }: Verification, requested: string | null): WizardStep | undefined {
  if (state === 'AWAITING_PROOF') return requested === 'wait' ? 'wait' : 'setUp';
  if (state === 'OBSERVED') return 'review';
  return state === 'APPROVED' ? 'cleanUp' : undefined;
}

interface WizardProps {
  readonly projectName: string;
  readonly verification: Verification;
  readonly code: Signal<string | undefined>;
  readonly loader: Loader<Verification>;
}

function Wizard({ projectName, verification, code, loader }: WizardProps): VNode {
  const { displayName, state } = verification;
  const step = stepOf(verification, query.value.get('step'));
  useTitle(displayName);
  useEffect(() => {
    if (query.peek().get('step') !== step) setQuery({ step });
    // An observation uses up the code, so it is no longer shown.
    if (state !== 'AWAITING_PROOF') code.value = undefined;
  }, [step, state, code]);
  const parts: Readonly<Record<WizardStep, () => VNode>> = {
    account: () => <SetUp verification={verification} code={code} />,
    setUp: () => <SetUp verification={verification} code={code} />,
    wait: () => <Wait verification={verification} />,
    review: () => <Review verification={verification} projectName={projectName} loader={loader} />,
    cleanUp: () => <CleanUp connectionName={verification.connectionName} />,
  };
  return (
    <>
      <p class="incident-badges">
        <VerificationState state={state} />
      </p>
      <h1 class="name">{displayName}</h1>
      {step && <WizardSteps at={step} />}
      {isOpen(verification) && <Deadline verification={verification} />}
      {step ? (
        <Step key={step}>{parts[step]()}</Step>
      ) : (
        <Ended projectName={projectName} verification={verification} />
      )}
      {isOpen(verification) && (
        <End projectName={projectName} verification={verification} onRejected={loader.reload} />
      )}
    </>
  );
}

/** Moves the focus to the new content when the step changes, as a new page would. */
function Step({ children }: { readonly children: ComponentChildren }): VNode {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (document.activeElement === document.body) element.current?.focus();
  }, []);
  return (
    <div ref={element} tabIndex={-1} class="wizard-step">
      {children}
    </div>
  );
}

function Deadline({ verification }: { readonly verification: Verification }): VNode {
  const { expiresUnix, wrongCodes, state } = verification;
  const untilMs = Number(expiresUnix) * 1_000;
  return (
    <p class="limitation">
      {texts.left}{' '}
      <strong>
        <TimeLeft untilMs={untilMs} />
      </strong>
      , {texts.expiresAt} <Time ms={untilMs} />.{' '}
      {wrongCodes > 0 && <strong>{texts.wrongCodes(wrongCodes)} </strong>}
      {state === 'AWAITING_PROOF' && texts.attempts}
    </p>
  );
}

function Wait({ verification }: { readonly verification: Verification }): VNode {
  return (
    <section aria-labelledby="wait">
      <h2 id="wait">{all.wait.title}</h2>
      <p>{all.wait.help}</p>
      <LastRefusal verification={verification} />
      <p>
        <a href={stepPath('setUp')}>{all.wait.back}</a>
      </p>
    </section>
  );
}

/** Why the last run was refused, and that the code is still valid. */
function LastRefusal({ verification }: { readonly verification: Verification }): VNode | null {
  const { lastRefusal, state } = verification;
  if (lastRefusal === undefined) return null;
  const { code, claims, refusedUnix } = lastRefusal;
  return (
    <NoticeBox tone="warning" title={texts.lastRefusal} announce="status">
      <p>{refusalText(code)}</p>
      {claims.length > 0 && <p>{texts.refusedClaims(claims.join(', '))}</p>}
      {state === 'AWAITING_PROOF' && <p>{texts.codeStays}</p>}
      <p class="weak">
        <code>{code}</code>, <Time ms={Number(refusedUnix) * 1_000} />
      </p>
    </NoticeBox>
  );
}

interface EndProps {
  readonly projectName: string;
  readonly verification: Verification;
  readonly onRejected: () => void;
}

function End({ projectName, verification, onRejected }: EndProps): VNode {
  const about = { projectName, name: verification.name, onRejected };
  return (
    <section aria-label={all.reject.action} class="wizard-end">
      {verification.state === 'OBSERVED' && (
        <>
          <h2>{all.review.other}</h2>
          <p>{all.review.otherHelp}</p>
        </>
      )}
      <div class="buttons">
        <Reject {...about} />
        <Reject {...about} isAgain />
      </div>
    </section>
  );
}

function Ended(props: { projectName: string; verification: Verification }): VNode {
  const { projectName, verification } = props;
  const titles: Readonly<Record<string, string>> = all.ended;
  return (
    <>
      <NoticeBox
        tone="info"
        title={titles[verification.state] ?? verification.state}
        actions={
          <a class="button" href={startPath(projectName, verification.name)}>
            {all.ended.again}
          </a>
        }
      >
        {all.ended.help}
      </NoticeBox>
      <LastRefusal verification={verification} />
    </>
  );
}
