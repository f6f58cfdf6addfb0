/**
 * A misspelt enum value is refused, also where unknown fields are ignored: the framework would
 * drop it with them, and a filter that is dropped lists everything. Looks at the JSON of those few
 * reads that have an enum at all, when their body is read.
 */
import { type DescEnum, type DescMethod, getOption } from '@bufbuild/protobuf';
import { Refusal } from '../../../streams/platform/refusal.ts';
import { policy } from '../../gen/svc/options/v1/policy_pb.ts';
import { toConnectError } from '../errors.ts';

interface EnumField {
  readonly names: readonly string[];
  readonly jsonName: string;
  readonly type: DescEnum;
}

/** Throws INVALID_FIELD for an unknown enum value in the JSON of a request of the method. */
export function enumCheck(method: DescMethod): (plain: Uint8Array) => void {
  const fields = enumFieldsOf(method);
  if (fields.length === 0) return () => {};
  return (plain) => checkFields(parsed(plain), fields);
}

function checkFields(message: Readonly<Record<string, unknown>>, fields: readonly EnumField[]) {
  for (const { names, jsonName, type } of fields) {
    for (const name of names) {
      const value = message[name];
      if (typeof value !== 'string') continue;
      if (type.values.some((member) => member.name === value)) continue;
      const known = type.values.filter(({ number }) => number !== 0).map((member) => member.name);
      const seen = value.slice(0, 100);
      const sentence = `${jsonName} is "${seen}": one of ${known.join(', ')}`;
      throw toConnectError(new Refusal('INVALID_FIELD', sentence, { field: jsonName }));
    }
  }
}

/** Own enum fields of a read's request; mutations refuse unknown values by themselves. */
function enumFieldsOf(method: DescMethod): EnumField[] {
  if (getOption(method, policy).mutation) return [];
  return method.input.fields.flatMap((field) =>
    field.fieldKind === 'enum'
      ? [{ names: [field.jsonName, field.name], jsonName: field.jsonName, type: field.enum }]
      : [],
  );
}

function parsed(bytes: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    // The framework parses the same bytes next and reports malformed JSON.
    return {};
  }
}
