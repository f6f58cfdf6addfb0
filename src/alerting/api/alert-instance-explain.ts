/**
 * `ExplainAlertInstance`: the path of an instance over a stretch of stored history, recomputed by
 * the current rule. An instance that never fired is recorded nowhere; this is how its path is
 * drawn.
 */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { evaluationRuleOf } from '../../../actors/alerting/rule-markers.ts';
import type { Host } from '../../../actors/platform/host/host-port.ts';
import type { VmBody } from '../../../actors/vms/vm-directory.ts';
import type {
  PathSegment,
  RecomputedPath,
} from '../../../streams/alerting/evaluation/recompute-path.ts';
import { isBreach, unevaluable } from '../../../streams/alerting/evaluation/timeline.ts';
import type { Clock } from '../../../streams/platform/clock.ts';
import { invalidField, Refusal } from '../../../streams/platform/refusal.ts';
import type { EvaluationRule } from '../../../streams/telemetry/entry.ts';
import type {
  ExplainAlertInstanceRequest,
  ExplainAlertInstanceResponseSchema,
} from '../../gen/svc/monitoring/v1/alert_pb.ts';
import {
  AlertInstance_DataState as DataState,
  AlertInstance_Step_Source as Source,
} from '../../gen/svc/monitoring/v1/rule_pb.ts';
import type { IncidentRecomputations } from '../../telemetry/query/explain/recompute-incident.ts';
import { POINTS_MAX } from '../../telemetry/query/threads/limits.ts';
import { stateMember, stepMessage, subject } from './alert-instance-messages.ts';
import { conditionMessage, gapsBetween } from './incident-explain.ts';

export interface ExplainInstanceDeps {
  readonly host: Pick<Host, 'view'>;
  readonly incidentRecomputations: IncidentRecomputations;
  readonly clock: Clock;
  /** Age up to which history is read, ms. */
  readonly retentionMs: number;
}

type Explanation = Omit<MessageInitShape<typeof ExplainAlertInstanceResponseSchema>, '$typeName'>;
type Stretch = Pick<ExplainAlertInstanceRequest, 'startTimeUnix' | 'endTimeUnix'>;

/** Longest stretch, s, equal to the longest duration of a rule (API-02). */
export const STRETCH_SECONDS_MAX = 86_400;

/** Throws a `Refusal` for a stretch that cannot be explained, and the errors of a query. */
export async function explainInstance(
  { host, incidentRecomputations, clock, retentionMs }: ExplainInstanceDeps,
  named: { project: string; rule: string; vm: string; labels: string },
  request: Stretch,
  signal: AbortSignal,
): Promise<Explanation> {
  const { project, vm, labels } = named;
  if (vm === '') {
    const message = 'A condition of a whole data center is not recomputed. Select one of its VMs';
    throw invalidField('name', message);
  }
  const rule = ruleOf(host, named);
  const nowMs = clock.now();
  const stretch = stretchOf(request, nowMs, retentionMs);
  const body = host.view(project).record('vm', vm)?.body as VmBody | undefined;
  if (body?.retiredMs !== undefined && body.retiredMs <= stretch.fromMs) {
    const message = `startTimeUnix is ${request.startTimeUnix}, after the VM was retired`;
    throw invalidField('startTimeUnix', message);
  }
  // Excludes times before the VM's current generation and after it was retired.
  const bornMs = (body?.generationMs ?? Number.NEGATIVE_INFINITY) + 1;
  const path = await incidentRecomputations.path(
    {
      rule,
      vm,
      labels,
      fromMs: stretch.fromMs,
      toMs: Math.min(stretch.toMs, body?.retiredMs ?? stretch.toMs),
      retainedFromMs: Math.max(nowMs - retentionMs, body?.retiredMs === undefined ? bornMs : 0),
    },
    signal,
  );
  if (path.samples.length > POINTS_MAX) {
    const points = String(path.samples.length);
    const message = `The stretch has ${points} samples; at most ${POINTS_MAX} are allowed. Select a shorter one`;
    throw new Refusal('TOO_MANY_POINTS', message, { points, limit: String(POINTS_MAX) });
  }
  return { ...subject(host.view(project), named), ...explanationOf(rule, path) };
}

/** The rule as it would be evaluated, even if it is paused. */
function ruleOf(
  host: Pick<Host, 'view'>,
  { project, rule: id }: { project: string; rule: string },
): EvaluationRule {
  const row = host.view(project).instance('alertRule', id);
  if (!row) throw new Refusal('NOT_FOUND', `There is no rule ${id} in the project`);
  const { spec, evaluationRevision } = row.context;
  const enabled = { ...spec, enabled: true };
  const rule = evaluationRuleOf(project, { rule: id, spec: enabled, evaluationRevision });
  if (!rule) throw new Error('The enabled rule has no evaluation');
  return rule;
}

function stretchOf({ startTimeUnix, endTimeUnix }: Stretch, nowMs: number, retentionMs: number) {
  const seconds = endTimeUnix - startTimeUnix;
  if (seconds < 1n || seconds > STRETCH_SECONDS_MAX) {
    const message = `The stretch from startTimeUnix to endTimeUnix is ${seconds} s; it must be 1 to ${STRETCH_SECONDS_MAX}`;
    throw invalidField('endTimeUnix', message);
  }
  const [fromMs, toMs] = [Number(startTimeUnix) * 1000, Number(endTimeUnix) * 1000];
  if (toMs > nowMs) {
    const message = `endTimeUnix is ${endTimeUnix}, which is in the future. Send the current time or an earlier one`;
    throw invalidField('endTimeUnix', message);
  }
  if (fromMs < nowMs - retentionMs) {
    const message = `startTimeUnix is ${startTimeUnix}: history is kept for ${retentionMs / 86_400_000} days`;
    throw invalidField('startTimeUnix', message);
  }
  return { fromMs, toMs };
}

function explanationOf(rule: EvaluationRule, path: RecomputedPath): Explanation {
  const { steps } = path;
  return {
    ...readingsOf(rule, path),
    path: steps.map((step) => stepMessage(step, Source.RECOMPUTED)),
  };
}

/** An explanation without the steps and the subject. */
export function readingsOf(rule: EvaluationRule, path: Omit<RecomputedPath, 'steps'>): Explanation {
  const { samples, gaps, segments } = path;
  const { sustainedMs, recoveryMs } = rule;
  const beyond = gaps.map((gap) => ({ ...gap, tolerated: false }));
  return {
    condition: conditionMessage({
      ...rule,
      sustainedSeconds: sustainedMs / 1000,
      recoverySeconds: recoveryMs / 1000,
    }),
    samples: samples.map(({ observedMs, value }) => ({
      observedUnixMs: BigInt(observedMs),
      value,
      breaches: !unevaluable(rule) && isBreach(rule, value),
    })),
    gaps: [...gapsBetween(samples).filter(({ tolerated }) => tolerated), ...beyond]
      .sort((a, b) => a.startMs - b.startMs)
      .map(({ startMs, endMs, tolerated }) => ({
        startUnixMs: BigInt(startMs),
        endUnixMs: BigInt(endMs),
        tolerated,
      })),
    segments: segments.map(segmentMessage),
  };
}

/** One segment of a path as a message; `cause` is '' if it has none. */
export function segmentMessage({ condition, isMissing, startMs, endMs, cause = '' }: PathSegment) {
  return {
    state: stateMember(condition),
    cause,
    dataState: isMissing ? DataState.MISSING : DataState.OBSERVED,
    startUnixMs: BigInt(startMs),
    endUnixMs: BigInt(endMs),
  };
}
