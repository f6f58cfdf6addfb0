/**
 * Refused exchanges of a connection: the reason, and which approved claims were different or
 * missing in the token. The values of the refused token are not known here: they are in the log of
 * its job.
 */
import type { VNode } from 'preact';
import { Badge } from '../../components/badges.tsx';
import { Time } from '../../components/time.tsx';
import type { Refusal } from './queries.ts';
import { texts as all, differenceNames, refusalText } from './texts.ts';

const texts = all.connection;

export function RefusalList({ refusals }: { readonly refusals: readonly Refusal[] }): VNode {
  return (
    <ul class="plain-list" aria-label={texts.refusals}>
      {refusals.map((refusal) => (
        <li key={refusal.correlationId}>
          <Time ms={Number(refusal.refusedUnix) * 1_000} />
          {refusal.causes.map(({ code, refusals }) => (
            <div key={code}>
              {refusalText(code)}{' '}
              <small class="weak">
                <code>{code}</code>
                {refusals > 1 && `, ${texts.times(refusals)}`}
              </small>
            </div>
          ))}
          {refusal.claims.length > 0 && <Claims refusal={refusal} />}
          {refusal.runs.length > 0 && (
            <div>
              {texts.run} <code>{refusal.runs.join(', ')}</code>
            </div>
          )}
          <small class="weak">
            {texts.correlation} <code>{refusal.correlationId}</code>
          </small>
        </li>
      ))}
    </ul>
  );
}

function Claims({ refusal }: { readonly refusal: Refusal }): VNode {
  return (
    <div class="badges">
      {refusal.claims.map(({ claim, difference }) => (
        <span key={`${claim} ${difference}`}>
          <code>{claim}</code>{' '}
          <Badge
            tone={difference === 'MISSING' ? 'missing' : 'warning'}
            text={differenceNames[difference] ?? all.review.changed}
          />
        </span>
      ))}
    </div>
  );
}
