/** How an answer may be packed: from the request's Accept-Encoding (RFC 9110, section 12.5.3). */
import type { PromqlRequest } from '../../query/promql-request.ts';

/** In order of preference among those that the client likes equally. */
const ENCODINGS = ['zstd', 'gzip'] as const;

/** `identity` whenever the header does not ask for anything else that is known here. */
export function negotiateEncoding(accepted: string | undefined): PromqlRequest['encoding'] {
  const weights = weightsOf(accepted ?? '');
  let best: PromqlRequest['encoding'] = 'identity';
  let bestWeight = 0;
  for (const encoding of ENCODINGS) {
    const weight = weights.get(encoding) ?? weights.get('*') ?? 0;
    if (weight > bestWeight) {
      best = encoding;
      bestWeight = weight;
    }
  }
  return bestWeight >= (weights.get('identity') ?? 0) ? best : 'identity';
}

function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const element of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = element.split(';').map((part) => part.trim());
    const quality = parameters.find((each) => each.startsWith('q='));
    const weight = quality === undefined ? 1 : Number(quality.slice(2));
    if (coding !== '' && weight >= 0 && weight <= 1) weights.set(coding, weight);
  }
  return weights;
}
