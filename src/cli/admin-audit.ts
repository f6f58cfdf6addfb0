/** Acts of `svc admin` about the audit: what happened in a project, or in none. */
import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import { TRANSITIONS_PATH } from '../admin/audit-routes.ts';
import { ListTransitionsResponseSchema } from '../gen/svc/audit/v1/audit_pb.ts';
import type { AdminAct } from './admin-act.ts';
import { transitionTable } from './transition-table.ts';

export const auditActs: readonly AdminAct[] = [
  {
    name: 'transitions',
    summary:
      'Show who did what, newest first: people, sessions, links and collectors, or a project',
    options: [
      { name: 'project', takes: 'ID', help: 'Of one project; else what belongs to none (_system)' },
      { name: 'machine', takes: 'NAME', help: 'Of one machine, such as session or credential' },
      { name: 'instance', takes: 'NAME|ID', help: 'Of one instance, by id or resource name' },
      { name: 'limit', takes: 'N', help: 'So many at most, 1 to 1000; default 50' },
      { name: 'page-token', takes: 'TOKEN', help: 'Of the page before: what comes after it' },
    ],
    path: TRANSITIONS_PATH,
    ask: (input) => ({
      project: (input.text('project') ?? '').replace(/^projects\//, ''),
      machine: input.text('machine') ?? '',
      instance: input.text('instance') ?? '',
      limit: input.text('limit') ?? '',
      pageToken: input.text('page-token') ?? '',
    }),
    render(answer) {
      const page = fromJson(ListTransitionsResponseSchema, answer as JsonValue);
      const { transitions, nextPageToken } = page;
      const more = nextPageToken === '' ? '' : `\nolder ones: --page-token ${nextPageToken}\n`;
      return `${transitionTable(transitions, 'There are no such transitions')}${more}`;
    },
  },
];
