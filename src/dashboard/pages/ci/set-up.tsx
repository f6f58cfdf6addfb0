/**
 * Second step of the wizard: the pairing code, shown once, the step to paste as the service wrote
 * it, and what the job needs. All but the code can be read again.
 */
import type { Signal } from '@preact/signals';
import type { VNode } from 'preact';
import { CodeBlock } from '../../components/code-block.tsx';
import { NoticeBox } from '../../components/notice-box.tsx';
import { SecretOnce } from '../../components/secret-once.tsx';
import { idOf } from '../../data/names.ts';
import { useServiceInfo } from '../../data/service-info.ts';
import { CopiedFact } from './parts.tsx';
import type { Verification } from './queries.ts';
import { texts as all } from './texts.ts';
import { stepPath } from './wizard-frame.tsx';

const texts = all.setUp;

const SECRET = 'SVC_SETUP_CODE';
/** As docs/ci.md has it. */
const PERMISSIONS = 'permissions:\n  id-token: write\n  contents: read\n';

interface SetUpProps {
  readonly verification: Verification;
  readonly code: Signal<string | undefined>;
}

export function SetUp({ verification, code }: SetUpProps): VNode {
  const { issuer, workflowStep } = verification;
  const issuers = useServiceInfo().state.value.value?.ciIssuers;
  const kind = issuers?.find(({ name }) => name === issuer)?.kind;
  return (
    <ol class="wizard-acts">
      <li>
        <h2>{texts.code}</h2>
        <p>{texts.codeHelp}</p>
        <Code code={code} />
      </li>
      <li>
        <h2>{texts.paste}</h2>
        <p>{texts.pasteHelp}</p>
        <CodeBlock label={texts.step} text={workflowStep} />
        {kind === 'github' && (
          <>
            <p>{texts.permission}</p>
            <CodeBlock label={texts.permissionLabel} text={PERMISSIONS} />
          </>
        )}
        <Facts verification={verification} />
      </li>
      <li>
        <h2>{texts.run}</h2>
        <p>{texts.runHelp}</p>
        <a class="button" href={stepPath('wait')}>
          {texts.next}
        </a>
      </li>
    </ol>
  );
}

/** Shown while it is in memory; `''` = it was shown here and put away. */
function Code({ code }: { readonly code: Signal<string | undefined> }): VNode {
  if (code.value === undefined) {
    return (
      <NoticeBox tone="info" title={texts.lost}>
        {texts.lostHelp}
      </NoticeBox>
    );
  }
  if (code.value === '') return <p class="weak">{texts.stored}</p>;
  return (
    <SecretOnce
      label={texts.codeLabel}
      secret={code.value}
      onStored={() => {
        code.value = '';
      }}
    />
  );
}

function Facts({ verification }: { readonly verification: Verification }): VNode {
  return (
    <details>
      <summary>{texts.facts}</summary>
      <dl class="facts variables">
        <CopiedFact title={texts.origin} value={window.location.origin} />
        <CopiedFact title={texts.setupId} value={idOf(verification.name)} />
        <CopiedFact title={texts.audience} value={verification.audience} />
        <CopiedFact title={texts.secret} value={SECRET} />
      </dl>
    </details>
  );
}
