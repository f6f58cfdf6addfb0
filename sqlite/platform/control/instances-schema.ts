/**
 * Schema of the projection in `control.db`: the result of the commits. Everything in it can be
 * rebuilt from EVENTS while the log reaches back far enough, and only applying a commit writes it.
 * Each ordered read follows an index; JSON is in TEXT columns.
 */
import type { Migration } from '../database.ts';

/**
 * Number of places for a commit's steps in the ids of their transitions: above `COMMIT_EVENTS_MAX`.
 */
export const TRANSITION_PLACES = 1024;

/** Columns of an instance's row in their order, which its checksum covers. */
export const INSTANCE_COLUMNS: readonly string[] = [
  ...(['project', 'machine', 'instance', 'version', 'value', 'context', 'timers'] as const),
  ...(['final', 'created', 'updated'] as const),
  ...(['owner', 'subject', 'incident', 'destination', 'event'] as const),
];

/** Migrations of the area `instances`, numbered from 1. */
export const instanceMigrations: readonly Migration[] = [
  {
    id: 1,
    sql: `
-- One row: which stream this is a projection of, and how far it has come.
CREATE TABLE position (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  stream_identity TEXT NOT NULL,
  format INTEGER NOT NULL,
  applied INTEGER NOT NULL,        -- sequence of the last message judged
  applied_hash TEXT NOT NULL,      -- its commit's hash
  gapped INTEGER NOT NULL          -- 1: sequences were missing on the way here
) STRICT;
INSERT INTO position VALUES (1, '', 0, 0, '', 0);

CREATE TABLE heads (
  project TEXT PRIMARY KEY,
  number INTEGER NOT NULL,
  hash TEXT NOT NULL,
  at INTEGER NOT NULL,
  sequence INTEGER NOT NULL        -- last message of the subject, superseded ones included
) STRICT, WITHOUT ROWID;

-- Headers stay for audit when bodies are gone: the chain verifies from them alone.
CREATE TABLE commits (
  sequence INTEGER PRIMARY KEY,
  project TEXT NOT NULL,
  number INTEGER NOT NULL,
  id TEXT NOT NULL,
  hash TEXT NOT NULL,
  header TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX commits_by_number ON commits (project, number);

CREATE TABLE instances (
  project TEXT NOT NULL,
  machine TEXT NOT NULL,
  instance TEXT NOT NULL,
  version INTEGER NOT NULL,
  value TEXT NOT NULL,
  context TEXT NOT NULL,
  timers TEXT NOT NULL,
  final INTEGER NOT NULL,
  created INTEGER NOT NULL,
  updated INTEGER NOT NULL
) STRICT;
-- An id is unique within its project, so that no project can overwrite another's row.
CREATE UNIQUE INDEX instances_by_id ON instances (instance, machine, project);
CREATE INDEX instances_in_order ON instances (project, machine, final, created, instance);

CREATE TABLE timers (
  project TEXT NOT NULL,
  machine TEXT NOT NULL,
  instance TEXT NOT NULL,
  id TEXT NOT NULL,
  due INTEGER NOT NULL,
  event TEXT NOT NULL,
  PRIMARY KEY (instance, machine, project, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX timers_by_due ON timers (due, project);

CREATE TABLE transitions (
  id INTEGER PRIMARY KEY,          -- sequence * 1024 + place in the commit
  project TEXT NOT NULL,
  machine TEXT NOT NULL,
  instance TEXT NOT NULL,
  at INTEGER NOT NULL,
  actor TEXT NOT NULL,
  event TEXT NOT NULL,
  from_state TEXT,
  to_state TEXT NOT NULL
) STRICT;
CREATE INDEX transitions_of_project ON transitions (project);
CREATE INDEX transitions_of_machine ON transitions (project, machine);
CREATE INDEX transitions_of_instance ON transitions (instance, machine, project);

CREATE TABLE records (
  project TEXT NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  sort TEXT NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX records_by_id ON records (project, kind, id);
CREATE INDEX records_in_order ON records (project, kind, sort, id);

CREATE TABLE requests (
  project TEXT NOT NULL,
  scope TEXT NOT NULL,
  id TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  answer TEXT NOT NULL,
  at INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  PRIMARY KEY (project, scope, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_by_age ON requests (project, at);
`,
  },
  {
    id: 2,
    sql: `
-- Of those instances alone that act for an identity: a project of 100,000 keys has a few of each.
CREATE INDEX instances_of_owner ON instances (
  project, machine, coalesce(context ->> 'owner', context ->> 'serviceAccount'), final, created,
  instance) WHERE coalesce(context ->> 'owner', context ->> 'serviceAccount') IS NOT NULL;
`,
  },
  {
    id: 3,
    sql: `
-- Client's id of the request that decided the step; NULL: none, or not known before this column.
ALTER TABLE transitions ADD COLUMN request TEXT;
`,
  },
  {
    id: 4,
    sql: `
-- A person's memberships, and the invitations to an address, without a look into every project.
CREATE INDEX instances_of_subject ON instances (
  CASE machine WHEN 'membership' THEN context ->> 'person'
    WHEN 'invitation' THEN context ->> 'email' END,
  machine, final, project)
  WHERE CASE machine WHEN 'membership' THEN context ->> 'person'
    WHEN 'invitation' THEN context ->> 'email' END IS NOT NULL;
`,
  },
  {
    id: 5,
    sql: `
-- What has ended, in the order in which its time is over.
CREATE INDEX instances_ended ON instances (project, machine, updated, instance) WHERE final = 1;

-- Deliveries of an incident.
CREATE INDEX instances_of_incident ON instances (
  project, CASE machine WHEN 'delivery' THEN context ->> 'incident' END, created, instance)
  WHERE CASE machine WHEN 'delivery' THEN context ->> 'incident' END IS NOT NULL;

-- Where a project's chain begins, of which older commits were let go: the last of them, and the
-- decision that let it go, as committed, for whoever verifies what remains.
CREATE TABLE chain_starts (
  project TEXT PRIMARY KEY,
  number INTEGER NOT NULL,
  hash TEXT NOT NULL,
  at INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  decided INTEGER NOT NULL,        -- sequence of the commit that holds the decision
  decision TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`,
  },
  {
    id: 6,
    sql: `
-- Each index has a column, which holds the context field that the machine declares for it. The
-- store fills the columns, and fills them again when a declaration changed.
DROP INDEX instances_of_owner;
DROP INDEX instances_of_subject;
DROP INDEX instances_of_incident;
ALTER TABLE instances ADD COLUMN owner TEXT;
ALTER TABLE instances ADD COLUMN subject TEXT;
ALTER TABLE instances ADD COLUMN incident TEXT;
CREATE INDEX instances_of_owner ON instances (project, machine, owner, final, created, instance)
  WHERE owner IS NOT NULL;
CREATE INDEX instances_of_subject ON instances (subject, machine, final, project)
  WHERE subject IS NOT NULL;
CREATE INDEX instances_of_incident ON instances (project, machine, incident, created, instance)
  WHERE incident IS NOT NULL;

-- The declarations that the columns were filled by.
CREATE TABLE instance_indexes (
  machine TEXT PRIMARY KEY,
  fields TEXT NOT NULL             -- JSON: field of each column
) STRICT, WITHOUT ROWID;
`,
  },
  {
    id: 7,
    sql: `
-- Transitions by what caused them, each in the order of the log.
CREATE INDEX transitions_of_event ON transitions (project, event ->> 'type');
CREATE INDEX transitions_of_actor ON transitions (project, actor ->> 'name');
CREATE INDEX transitions_of_request ON transitions (project, request) WHERE request IS NOT NULL;

-- Instances by their state, and by two more fields that machines declare.
ALTER TABLE instances ADD COLUMN state TEXT GENERATED ALWAYS AS (value ->> '$') VIRTUAL;
ALTER TABLE instances ADD COLUMN destination TEXT;
ALTER TABLE instances ADD COLUMN event TEXT;
CREATE INDEX instances_of_destination
  ON instances (project, machine, destination, state, created, instance)
  WHERE destination IS NOT NULL;
CREATE INDEX instances_of_event ON instances (project, machine, event, state, created, instance)
  WHERE event IS NOT NULL;
`,
  },
  {
    id: 8,
    sql: `
-- Incidents that began before their VM's data center was recorded: that of the VM today, so that
-- the filter finds them. Of a VM that is gone nothing is known.
UPDATE records SET body = json_set(body, '$.vmDatacenter', (
    SELECT vms.body ->> 'datacenter' FROM records AS vms
    WHERE vms.project = records.project AND vms.kind = 'vm' AND vms.id = records.body ->> 'vm'))
  WHERE kind = 'incident' AND body ->> 'datacenter' IS NULL AND body ->> 'vmDatacenter' IS NULL
  AND EXISTS (
    SELECT 1 FROM records AS vms
    WHERE vms.project = records.project AND vms.kind = 'vm' AND vms.id = records.body ->> 'vm');

-- Records of incidents by how they stand: while one fires, whether somebody has taken notice. The
-- columns are written with a record, see instance-store.ts; here for those that are there already.
ALTER TABLE records ADD COLUMN status TEXT;
ALTER TABLE records ADD COLUMN severity TEXT;
ALTER TABLE records ADD COLUMN rule TEXT;
ALTER TABLE records ADD COLUMN vm TEXT;
ALTER TABLE records ADD COLUMN place TEXT;
UPDATE records SET
  status = CASE WHEN body ->> 'state' <> 'FIRING' THEN body ->> 'state'
    WHEN body ->> 'acknowledged' IS NULL
      THEN iif(body ->> 'snoozedUntilMs' IS NULL, 'FIRING', 'SNOOZED')
    ELSE iif(body ->> 'snoozedUntilMs' IS NULL, 'ACKNOWLEDGED', 'ACKNOWLEDGED_SNOOZED')
  END,
  severity = body ->> 'severity',
  rule = body ->> 'rule',
  vm = body ->> 'vm',
  place = coalesce(body ->> 'datacenter', body ->> 'vmDatacenter')
  WHERE kind = 'incident';
-- Rules and places are few, so that they are compared within the index; VMs are thousands.
CREATE INDEX records_of_severity ON records (project, severity, status, sort, id, rule, place)
  WHERE status IS NOT NULL;
CREATE INDEX records_of_vm ON records (project, vm, status, sort, id)
  WHERE status IS NOT NULL;
`,
  },
  {
    id: 9,
    sql: `
-- Highest version of each machine that a project's rows were ever written by: a program that does not
-- know it does not act for the project.
CREATE TABLE machine_versions (
  project TEXT NOT NULL,
  machine TEXT NOT NULL,
  version INTEGER NOT NULL,
  PRIMARY KEY (project, machine)
) STRICT, WITHOUT ROWID;
INSERT INTO machine_versions
  SELECT project, machine, max(version) FROM instances GROUP BY project, machine;
`,
  },
  {
    id: 10,
    sql: `
-- What callers have changed in each project on the last day that had such a change, see
-- change-use.ts. A day is counted from 1970-01-01 in UTC.
CREATE TABLE change_use (
  project TEXT PRIMARY KEY,
  day INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  things INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`,
  },
  {
    id: 11,
    sql: `
-- Commits with an earlier time than their predecessor: the clock had been set back by more than a
-- minute. Between two of them, the times of a project's commits do not decrease.
CREATE TABLE set_backs (
  project TEXT NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (project, number)
) STRICT, WITHOUT ROWID;
`,
  },
  {
    id: 12,
    sql: `
-- See row-checksum.ts. A row of commits has the hash of its header.
ALTER TABLE position ADD COLUMN checksum INTEGER;
ALTER TABLE heads ADD COLUMN checksum INTEGER;
ALTER TABLE instances ADD COLUMN checksum INTEGER;
ALTER TABLE timers ADD COLUMN checksum INTEGER;
ALTER TABLE transitions ADD COLUMN checksum INTEGER;
ALTER TABLE records ADD COLUMN checksum INTEGER;
ALTER TABLE requests ADD COLUMN checksum INTEGER;
ALTER TABLE chain_starts ADD COLUMN checksum INTEGER;
ALTER TABLE instance_indexes ADD COLUMN checksum INTEGER;
ALTER TABLE machine_versions ADD COLUMN checksum INTEGER;
ALTER TABLE change_use ADD COLUMN checksum INTEGER;
ALTER TABLE set_backs ADD COLUMN checksum INTEGER;
`,
  },
];
