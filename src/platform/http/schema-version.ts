/**
 * Version of the schema that a client was made for, as it declares it. It rises when the absence of
 * a field changes its meaning, so that older clients keep the promised behaviour. Clients of the
 * first schema declare nothing. docs/versions.md lists the versions.
 */
import { invalidField } from '../../../streams/platform/refusal.ts';

export const SCHEMA_VERSION_HEADER = 'svc-schema-version';
/** The newest version, which this program's own clients declare. */
export const SCHEMA_VERSION = 2;
/** Schema version from which an absent `Value.value` is not zero. */
export const VALUES_EXPLICIT_FROM = 2;

const FORM = /^[1-9]\d{0,3}$/;

/**
 * The declared version; 1 without the header. Throws a `Refusal` INVALID_FIELD if it is invalid.
 */
export function schemaVersion(header: string | null | undefined): number {
  if (header === null || header === undefined) return 1;
  if (FORM.test(header)) return Number(header);
  const message = `${SCHEMA_VERSION_HEADER} is "${header.slice(0, 20)}". Send ${SCHEMA_VERSION}, or omit it.`;
  throw invalidField(SCHEMA_VERSION_HEADER, message);
}
