/** Fields of messages whose rows were written by another version of this program. */
import { test } from 'tap';
import { specMessage } from '../../src/alerting/api/rule-messages.ts';
import { ruleSpec } from '../support/alerting-on-host.ts';

test('an enum value of another version becomes UNSPECIFIED; other fields are kept', async (t) => {
  const spec = ruleSpec({ severity: 'FATAL', operator: 'SOMETHING_NEW', threshold: 7 });
  t.match(specMessage(spec), { severity: 0, operator: 0, threshold: 7 });
});
