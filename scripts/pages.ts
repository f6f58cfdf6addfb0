/** The pages made from tables in the code: their paths, and the generators of their text. */

import { allCommands } from '../src/cli/program.ts';
import { settingsPage } from '../src/cli/settings-page.ts';
import { errorsPage } from '../src/platform/errors.ts';
import { claimsPage } from './pages/claims-page.ts';
import { cliPage } from './pages/cli-page.ts';
import { limitsPage } from './pages/limits-page.ts';
import { metricsPage } from './pages/metrics-page.ts';
import { ownMetricsPage } from './pages/own-metrics-page.ts';
import { writeSamplesPage } from './pages/write-samples-page.ts';

export interface Page {
  readonly path: string;
  readonly text: () => string;
}

const commands = await allCommands();

export const pages: readonly Page[] = [
  { path: 'docs/configuration.md', text: settingsPage },
  { path: 'docs/cli.md', text: () => cliPage(commands) },
  { path: 'docs/errors.md', text: errorsPage },
  { path: 'docs/limits.md', text: limitsPage },
  { path: 'docs/ci-claims.md', text: claimsPage },
  { path: 'docs/metrics.md', text: metricsPage },
  { path: 'docs/operations/metrics.md', text: ownMetricsPage },
  { path: 'docs/write-samples.md', text: writeSamplesPage },
];
