/** The queries of Prometheus's compliance tester, compared with the answers of Prometheus 3.5.3. */
import { test } from 'tap';
import { componentPath, needs } from '../../support/components.ts';
import { runCompliance } from './compliance.ts';

const title = "PromQL compliance: every query of the tester gives Prometheus 3.5.3's answer";
test(title, needs('shared folder'), async (t) => {
  const outcomes = runCompliance(`${componentPath('shared folder')}/conformance`);
  t.equal(outcomes.length, 269, 'all queries were run');
  t.same(
    outcomes.filter(({ differences }) => differences.length > 0),
    [],
  );
});
