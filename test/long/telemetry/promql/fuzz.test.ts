/** Seven hundred random expressions, asked of a real Prometheus and of our engine. */
import t from 'tap';
import { needs } from '../../../support/components.ts';
import { askPrometheus, component } from '../../../telemetry/promql/fuzz/ask-prometheus.ts';

const EXPRESSIONS = 700;

t.test(`${EXPRESSIONS} expressions give the answers of Prometheus`, needs(component), (t) =>
  askPrometheus(t, EXPRESSIONS),
);
