/**
 * `svc admin restore-events` in a process that kills itself at a step, with the settings of its
 * environment: `node restore-events-program.ts STEP FOLDER`.
 */
import { EVENTS_STREAM } from '../../streams/platform/commit/events.ts';
import { JetStream } from '../../streams/platform/jetstream/jetstream-stream.ts';
import { SNAPSHOTS_STREAM } from '../../streams/platform/snapshots.ts';
import { svc } from './operator-commands.ts';

/** In the order in which the command reaches them. */
export type RestoreStep = 'stream made' | 'first chunk' | 'before manifest' | 'manifest';

const [step, folder = ''] = process.argv.slice(2);

function reached(now: RestoreStep): void {
  if (now === step) process.kill(process.pid, 'SIGKILL');
}

const { ensure, append } = JetStream.prototype;

JetStream.prototype.ensure = async function (...args) {
  const state = await ensure.apply(this, args);
  if (args[0].name === EVENTS_STREAM) reached('stream made');
  return state;
};

JetStream.prototype.append = async function (message) {
  const isManifest = message.subject.endsWith('.latest');
  if (message.stream === SNAPSHOTS_STREAM && isManifest) reached('before manifest');
  const outcome = await append.call(this, message);
  if (message.stream === SNAPSHOTS_STREAM) reached(isManifest ? 'manifest' : 'first chunk');
  return outcome;
};

const { code, stdout, stderr } = await svc(
  ['admin', 'restore-events', '--data', folder],
  process.env,
);
process.stdout.write(stdout);
process.stderr.write(stderr);
process.exitCode = code;
