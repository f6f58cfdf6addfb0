/**
 * Content negotiation by the Accept and Accept-Encoding headers: the one reading of weights for all
 * responses that have more than one form.
 *
 * RFC 9110, sections 12.4.2, 12.5.1 and 12.5.3
 */

/**
 * Encoding of a response: the offered coding that the client prefers, the first among equals;
 * `identity` if the header requests none of them.
 */
export function negotiateEncoding<Coding extends string>(
  acceptEncoding: string | undefined,
  offered: readonly Coding[],
): Coding | 'identity' {
  const weights = new Map(acceptedRanges(acceptEncoding).map(({ name, weight }) => [name, weight]));
  let best: { coding: Coding | 'identity'; weight: number } = { coding: 'identity', weight: 0 };
  for (const coding of offered) {
    const weight = weights.get(coding) ?? weights.get('*') ?? 0;
    if (weight > best.weight) best = { coding, weight };
  }
  return best.weight >= (weights.get('identity') ?? 0) ? best.coding : 'identity';
}

interface WeightedRange {
  /** Lower case. */
  readonly name: string;
  /** Names and values in lower case, values without quotes. */
  readonly parameters: ReadonlyMap<string, string>;
  /** 0 to 1. */
  readonly weight: number;
}

/** In the header's order. Entries without a name or a valid weight do not count. */
export function acceptedRanges(header: string | undefined): WeightedRange[] {
  return (header ?? '').split(',').flatMap((range) => {
    const [name = '', ...rest] = range.split(';').map((part) => part.trim().toLowerCase());
    const parameters = new Map(rest.map(parameterOf));
    const weight = Number(parameters.get('q') ?? 1);
    return name !== '' && weight >= 0 && weight <= 1 ? [{ name, parameters, weight }] : [];
  });
}

function parameterOf(text: string): readonly [name: string, value: string] {
  const [name = '', value = ''] = text.split('=', 2);
  return [name.trim(), value.trim().replace(/^"(.*)"$/, '$1')];
}
