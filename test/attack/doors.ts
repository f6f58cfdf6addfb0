/** Routes that read credentials, and the answer that a bad credential must get there. */
import { type Arena, getRequest, rpcRequest } from './arena.ts';
import { reasonOf } from './judge.ts';
import type { Header, WireAnswer, WireRequest } from './wire.ts';

/**
 * A bad credential must get nothing. 400 and 431 come from the parser, before any credential is
 * read.
 */
export function refused(answer: WireAnswer): string | undefined {
  const { status } = answer;
  if ([400, 401, 403, 431].includes(status)) return undefined;
  return `answered ${status} ${reasonOf(answer) ?? ''} instead of a rejection`;
}

/** Routes that read a bearer token, each in its own way. */
export function doors(
  arena: Pick<Arena, 'target' | 'attacker'>,
  headers: readonly Header[],
  isHuman = false,
): WireRequest[] {
  const { project, id } = arena.attacker;
  const base = `/v1/monitoring/projects/${id}`;
  const rpc = rpcRequest(
    arena,
    '/svc.monitoring.v1.AlertService/ListAlertRules',
    { projectName: project },
    headers,
  );
  if (isHuman) return [rpc];
  return [
    rpc,
    getRequest(arena, `${base}/promql/api/v1/query?query=1`, headers),
    getRequest(arena, `${base}/scrape-targets`, headers),
    rpcRequest(
      arena,
      '/svc.ingest.v1.IngestService/WriteSamples',
      { projectName: project, rows: [] },
      headers,
    ),
  ];
}
