/** The access policy that a method declares in the schema. */
import { type DescMethod, getOption } from '@bufbuild/protobuf';
import { type Policy, policy } from '../../gen/svc/options/v1/policy_pb.ts';

/** Read once: an option is parsed from the bytes of its descriptor each time. */
const policies = new WeakMap<DescMethod, Policy>();

/** The declared policy of the method; the same object each time. */
export function policyOf(method: DescMethod): Policy {
  let declared = policies.get(method);
  if (declared === undefined) {
    declared = getOption(method, policy);
    policies.set(method, declared);
  }
  return declared;
}
