/** The calls of measurements, with the keys of demo.json. Each throws unless it returns 200. */
import { randomUUID } from 'node:crypto';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import {
  type RowSchema,
  WriteSamplesRequestSchema,
} from '../../src/gen/svc/ingest/v1/ingest_pb.ts';
import { fleetVm } from '../../test/support/fleet.ts';
import type { Demo } from '../../test/support/program.ts';

export interface NewRule {
  readonly displayName: string;
  readonly metricId: string;
  readonly threshold: number;
  /** Names of destinations to notify. */
  readonly destinations: readonly string[];
}

export class Api {
  readonly #demo: Demo;

  constructor(demo: Demo) {
    this.#demo = demo;
  }

  async call(method: string, request: object): Promise<Record<string, unknown>> {
    const body = JSON.stringify({ projectName: this.#demo.projectName, ...request });
    return JSON.parse(await this.#post(method, 'application/json', this.#demo.apiKey, body));
  }

  /** Creates a destination; resolves to its name. */
  async createWebhook(url: string): Promise<string> {
    const answer = await this.call('monitoring.v1.AlertService/CreateDestination', {
      requestId: randomUUID(),
      destination: { displayName: 'Bench', webhook: { url } },
    });
    return String((answer.destination as { name: unknown }).name);
  }

  /** A rule over all VMs that fires at once; resolves once it is evaluated. */
  async saveRule({ destinations, ...spec }: NewRule): Promise<void> {
    const id = randomUUID();
    const request = {
      id,
      requestId: randomUUID(),
      expectedVersion: '0',
      spec: {
        ...spec,
        operator: 'GREATER_THAN',
        severity: 'WARNING',
        allVms: true,
        sustainedSeconds: 0,
        destinationNames: destinations,
      },
    };
    for (let tries = 0; tries < 100; tries++) {
      const rule = await this.call('monitoring.v1.AlertService/SaveAlertRule', request);
      if (rule.syncStatus === 'APPLIED') return;
      if (await this.#isApplied(id)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`The rule ${spec.displayName} was not applied within 5 s`);
  }

  async #isApplied(id: string): Promise<boolean> {
    const name = `${this.#demo.projectName}/alertRules/${id}`;
    const rule = await this.call('monitoring.v1.AlertService/GetAlertRule', { name });
    return rule.syncStatus === 'APPLIED';
  }

  /** Writes rows in binary; durable when it resolves. */
  async write(rows: MessageInitShape<typeof RowSchema>[]): Promise<void> {
    const { projectName, collectorKey } = this.#demo;
    const request = create(WriteSamplesRequestSchema, { projectName, rows });
    const body = Buffer.from(toBinary(WriteSamplesRequestSchema, request));
    const method = 'ingest.v1.IngestService/WriteSamples';
    await this.#post(method, 'application/proto', collectorKey, body);
  }

  async #post(method: string, type: string, key: string, body: string | Buffer): Promise<string> {
    const answer = await fetch(`${this.#demo.baseUrl}/svc.${method}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': type },
      body: typeof body === 'string' ? body : new Uint8Array(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} returned ${answer.status}: ${text.slice(0, 300)}`);
    return text;
  }
}

const TOTAL_BYTES = 8 * 2 ** 30;

/** A row of the fleet's nth VM with memory usage `usedRatio`. */
export function memoryRow(
  n: number,
  row: { readonly observedMs: number; readonly sequence: number; readonly usedRatio: number },
): MessageInitShape<typeof RowSchema> {
  const used = TOTAL_BYTES * row.usedRatio;
  return {
    vmName: fleetVm(n),
    observedUnixMs: BigInt(row.observedMs),
    sequence: BigInt(row.sequence),
    bootId: 'boot',
    vcpus: 4,
    state: 1,
    values: [
      { series: 'svc_vm_memory_total_bytes', value: TOTAL_BYTES },
      { series: 'svc_vm_memory_free_bytes', value: TOTAL_BYTES - used },
      { series: 'svc_vm_memory_used_bytes', value: used },
      ...filesystem(TOTAL_BYTES, used),
    ],
  };
}

function filesystem(size: number, used: number) {
  const labels = { mountpoint: '/', fstype: 'ext4' };
  return [
    { series: 'svc_vm_filesystem_size_bytes', labels, value: size },
    { series: 'svc_vm_filesystem_used_bytes', labels, value: used },
  ];
}
