/** The first steps of a project, until all of them are done. */
import type { VNode } from 'preact';
import { Badge, type Tone } from '../../components/badges.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { read } from '../../data/call.ts';
import { useLoaded } from '../../data/loaded.ts';
import { mayDo, role } from '../../data/projects.ts';
import { texts as shared } from '../../messages/en.ts';
import { pathIfAny } from '../../router/match.ts';
import { firstSteps, hasOpenSteps, type Step, type StepFacts, type StepState } from './steps.ts';
import { texts as all } from './texts.ts';

const texts = all.steps;
const POLL_SECONDS = 30;

export interface FirstStepsProps {
  readonly project: string;
  /** From the overview; undefined until it is loaded. */
  readonly liveVms: number | undefined;
  readonly rules: number | undefined;
}

export function FirstSteps({ project, liveVms, rules }: FirstStepsProps): VNode | null {
  const people = usePeople(project);
  const path = useFirstPath(project);
  const facts: StepFacts = { liveVms, rules, people, ...path };
  const steps = firstSteps(facts);
  // Hidden until it is known that there is something to do.
  if (!hasOpenSteps(steps) || liveVms === undefined) return null;
  return (
    <section aria-labelledby="steps">
      <h2 id="steps">{texts.title}</h2>
      <ol class="steps">
        {steps.map((step) => (
          <StepLine key={step.key} step={step} project={project} />
        ))}
      </ol>
    </section>
  );
}

const tones: Readonly<Record<StepState, Tone>> = {
  done: 'good',
  open: 'waiting',
  unknown: 'missing',
};

function StepLine({ step, project }: { readonly step: Step; readonly project: string }): VNode {
  const { key, state, page, needs, command } = step;
  const path = pathIfAny(page, { project });
  return (
    <li class={state}>
      <Badge tone={tones[state]} text={texts[state]} />
      <div>
        <strong>{texts[key]}</strong>
        {state !== 'done' && <p class="weak">{texts[`${key}Help`]}</p>}
        {state !== 'done' && mayDo(needs) && path === undefined && (
          <p class="command">
            <code>npx {command}</code>
            <CopyButton text={`npx ${command}`} />
          </p>
        )}
      </div>
      {!mayDo(needs) && state !== 'done' && <small class="effect">{shared.needsRole(needs)}</small>}
      {mayDo(needs) && path !== undefined && <a href={path}>{texts.go[key]}</a>}
    </li>
  );
}

/** Number of members and invited people; only owners may see the latter. */
function usePeople(project: string): number | undefined {
  const projectName = `projects/${project}`;
  const isOwner = role.value === 'OWNER';
  const loader = useLoaded(
    `people ${projectName} ${isOwner}`,
    async (options) => {
      const request = { projectName, pageSize: 2 };
      const { members } = await read('ProjectService', 'listMembers', request, options);
      if (members.length > 1 || !isOwner) return members.length;
      const invited = await read(
        'ProjectService',
        'listInvitations',
        { projectName, pageSize: 50 },
        options,
      );
      return members.length + invited.invitations.filter(({ state }) => state === 'PENDING').length;
    },
    POLL_SECONDS,
  );
  return loader.state.value.value;
}

function useFirstPath(project: string): Pick<StepFacts, 'hasAccepted' | 'hasFired'> {
  const projectName = `projects/${project}`;
  const loader = useLoaded(
    `firstPath ${projectName}`,
    async (options) => {
      const one = { projectName, pageSize: 1 };
      const [{ deliveries }, { incidents }] = await Promise.all([
        read('AlertService', 'listDeliveries', { ...one, states: ['SENT'] }, options),
        read('AlertService', 'listIncidents', one, options),
      ]);
      const hasAccepted = deliveries.some(({ state }) => state === 'SENT');
      return { hasAccepted, hasFired: incidents.length > 0 };
    },
    POLL_SECONDS,
  );
  return loader.state.value.value ?? { hasAccepted: undefined, hasFired: undefined };
}
