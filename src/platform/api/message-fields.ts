/** Fields in the form that messages have: times, enums and unobserved values. */

/** Unix seconds, as messages have them, from Unix milliseconds. */
export function unixSeconds(ms: number): bigint {
  return BigInt(Math.floor(ms / 1000));
}

export function optionalSeconds(ms: number | null | undefined): bigint | undefined {
  return ms === null || ms === undefined ? undefined : unixSeconds(ms);
}

/** Sets the optional fields that are present: an absent one must not become a zero. */
export function withPresent<M extends object>(
  message: M,
  fields: { [K in keyof M]?: M[K] | undefined },
): M {
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined) Object.assign(message, { [key]: value });
  }
  return message;
}

/** Number of an enum's member. 0, unspecified, for a name of another version of this program. */
export function enumValue<E extends number>(members: Readonly<Record<string, E>>, name: string): E {
  return members[name] ?? (0 as E);
}

/** Name of an enum's member, or the number as text for one that this version does not know. */
export function enumName(members: Readonly<Record<string, number>>, value: number): string {
  return Object.entries(members).find(([, number]) => number === value)?.[0] ?? String(value);
}
