/**
 * The five lines that `svc serve` prints once it is ready: what it watches, where it listens, where
 * the keys are, and a command to try that works as it stands and prints no secret.
 */
import { resolve } from 'node:path';
import { shownUrl } from '../../streams/platform/shown-url.ts';

export interface BannerFacts {
  readonly version: string;
  /** What is watched, in words: `this host`, `libvirt domains of qemu:///system`. */
  readonly watches: readonly string[];
  readonly datacenter: string;
  readonly sampleIntervalSeconds: number;
  readonly baseUrl: string;
  readonly metricsUrl: string | undefined;
  /** Path of demo.json, where the project demo exists. */
  readonly demoFile: string | undefined;
  /** demo.json has a link by which the first owner signs in. */
  readonly hasSignInUrl?: boolean;
}

export function banner(facts: BannerFacts): string {
  const { version, watches, datacenter, sampleIntervalSeconds, baseUrl, metricsUrl } = facts;
  const watching =
    watches.length > 0
      ? `watches ${watches.join(' and ')} (${datacenter}) every ${sampleIntervalSeconds} s; CPU and rates from the second reading on`
      : 'collects nothing itself: readings come over WriteSamples';
  const metrics = metricsUrl ? `, own metrics on ${shownUrl(metricsUrl)}` : '';
  return [
    `svc ${version} ${watching}`,
    `API on ${baseUrl}${metrics}`,
    ...(facts.demoFile ? demoLines(facts.demoFile, facts) : []),
    'Ctrl-C stops it; "svc help serve" lists the settings',
    '',
  ].join('\n');
}

/**
 * The key goes from the file to curl through a pipe: it is on no command line, in no environment,
 * and not on the screen. sed is enough because demo.json has one field a line.
 */
function demoLines(demoFile: string, { baseUrl, hasSignInUrl }: BannerFacts): string[] {
  const file = quote(resolve(demoFile));
  const what = hasSignInUrl
    ? 'address, keys and, as signInUrl, a link by which its owner signs in'
    : 'address and keys';
  const sed = `sed -n 's/.*"apiKey": "\\(.*\\)".*/authorization: Bearer \\1/p' ${file}`;
  const url = `${baseUrl}/svc.monitoring.v1.MonitoringService/ListVMMonitoring`;
  const body = `-d '{"projectName":"projects/demo"}'`;
  return [
    `project demo: ${what} are in ${resolve(demoFile)}, readable by you alone; try`,
    `  ${sed} | curl -sS -H @- -H 'content-type: application/json' ${body} ${url}`,
  ];
}

function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
