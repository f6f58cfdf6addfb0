/**
 * Schema of the projection in `control.db`: what commits have come to. Everything here can be
 * rebuilt from EVENTS while the log reaches back far enough, and nothing here is written otherwise
 * than by applying a commit. Ordered reads follow an index each; JSON stands in TEXT columns.
 */
import type { Migration } from '../database.ts';

/** Places of a commit's steps in the ids of their transitions: above `COMMIT_EVENTS_MAX`. */
export const TRANSITION_PLACES = 1024;

/**
 * Whose an instance is: of a credential the name of its identity, of a CI verification or connection
 * the id of its service account; NULL for all else. An index is on exactly this expression.
 */
export const OWNER_SQL = "coalesce(context ->> 'owner', context ->> 'serviceAccount')";

/**
 * Whom an instance is about, in whichever project: of a membership the person, of an invitation the
 * address; NULL for all else. An index is on exactly this expression.
 */
export const SUBJECT_SQL =
  "CASE machine WHEN 'membership' THEN context ->> 'person' WHEN 'invitation' THEN context ->> 'email' END";

/** The incident that a delivery tells of; NULL for all else. An index is on this expression. */
export const INCIDENT_SQL = "CASE machine WHEN 'delivery' THEN context ->> 'incident' END";

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
CREATE INDEX instances_of_owner ON instances (project, machine, ${OWNER_SQL}, final, created,
  instance) WHERE ${OWNER_SQL} IS NOT NULL;
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
CREATE INDEX instances_of_subject ON instances (${SUBJECT_SQL}, machine, final, project)
  WHERE ${SUBJECT_SQL} IS NOT NULL;
`,
  },
  {
    id: 5,
    sql: `
-- What has ended, in the order in which its time is over.
CREATE INDEX instances_ended ON instances (project, machine, updated, instance) WHERE final = 1;

-- Deliveries of an incident.
CREATE INDEX instances_of_incident ON instances (project, ${INCIDENT_SQL}, created, instance)
  WHERE ${INCIDENT_SQL} IS NOT NULL;

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
];
