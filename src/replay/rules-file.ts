/**
 * The rules of a replay: a JSON document with one specification in the API's own form (like for
 * `svc alerts save --file`), a list of them, or `{"rules": [...]}`. They are checked like by a
 * save. Destinations need not exist: each name stands for an endpoint that accepts.
 */
import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import { validateRuleSpec } from '../../actors/alerting/rule-spec.ts';
import type { AlertRuleSpec } from '../../machines/alerting/alert-rule.ts';
import { requestedSpec } from '../alerting/api/rule-messages.ts';
import { AlertRuleSpecSchema } from '../gen/svc/monitoring/v1/rule_pb.ts';

/** Rules that cannot be replayed. The message names them and the reason. */
export class UnusableRules extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'UnusableRules';
  }
}

/** The rules of a document. Throws `UnusableRules`. */
export function parseRules(text: string): AlertRuleSpec[] {
  const document = jsonOf(text);
  const list = Array.isArray(document) ? document : (rulesIn(document) ?? [document]);
  if (list.length === 0) throw new UnusableRules('The file contains no rule');
  return list.map(specOf);
}

function jsonOf(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (cause) {
    throw new UnusableRules(`The file is not JSON: ${(cause as Error).message}`, { cause });
  }
}

function rulesIn(document: JsonValue): JsonValue[] | undefined {
  if (typeof document !== 'object' || document === null || Array.isArray(document))
    return undefined;
  return Array.isArray(document.rules) ? document.rules : undefined;
}

function specOf(json: JsonValue, index: number): AlertRuleSpec {
  try {
    const message = fromJson(AlertRuleSpecSchema, json, { ignoreUnknownFields: false });
    return validateRuleSpec(requestedSpec(message));
  } catch (cause) {
    throw new UnusableRules(`Rule ${index + 1}: ${(cause as Error).message}`, { cause });
  }
}
