/** Limits of anonymous callers as the service sets them, for test worlds. */
import type { Test } from 'tap';
import {
  type AnonymousLimits,
  createAnonymousLimits,
} from '../../src/platform/http/anonymous-limits.ts';
import { createMetrics } from '../../src/platform/metrics.ts';
import type { Clock } from '../../streams/platform/clock.ts';

export function testAnonymousLimits(t: Test, clock: Clock): AnonymousLimits {
  const metrics = createMetrics({ clock, version: 'test' });
  t.teardown(() => metrics.close());
  return createAnonymousLimits({ clock, metrics });
}
