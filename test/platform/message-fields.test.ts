/** Fields of messages whose rows were written by another version of this program. */
import { test } from 'tap';
import { specMessage } from '../../src/alerting/api/rule-messages.ts';
import { ruleSpec } from '../support/alerting-on-host.ts';

test('a word of another version is unspecified in a message, and the rest of it is there', async (t) => {
  const spec = ruleSpec({ severity: 'FATAL', operator: 'SOMETHING_NEW', threshold: 7 });
  t.match(specMessage(spec), { severity: 0, operator: 0, threshold: 7 });
});
