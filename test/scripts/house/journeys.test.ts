/**
 * How a journey is built from the functions that were entered on it. `npm run house` runs the
 * service.
 */
import t from 'tap';
import { journeyOf } from '../../../scripts/house/journeys/journeys.ts';

const entries = (...places: readonly string[]) =>
  places.map((place, i) => ({ atNs: BigInt(i), place }));

t.test(
  'files are listed in the order of their first function, without the shared road',
  async (t) => {
    const entered = entries(
      ...['src/platform/http/server.ts:10', 'src/telemetry/api/ingest.ts:5'],
      ...['actors/telemetry/ingest.ts:7', 'src/telemetry/api/ingest.ts:9'],
      ...['streams/telemetry/codec.ts:3', 'src/platform/http/server.ts:10'],
    );
    t.same(journeyOf('a sample', entered, new Set(['src/platform/http/server.ts:10'])), {
      name: 'a sample',
      files: [
        'src/telemetry/api/ingest.ts',
        'actors/telemetry/ingest.ts',
        'streams/telemetry/codec.ts',
      ],
      shared: ['src/platform/http/server.ts'],
      folders: 3,
      folderChanges: 2,
      floorChanges: 2,
    });
  },
);

t.test(
  'a file of the shared road joins the journey if another of its functions is entered',
  async (t) => {
    const entered = entries('streams/platform/clock.ts:1', 'streams/platform/clock.ts:8');
    const { files, shared } = journeyOf('a', entered, new Set(['streams/platform/clock.ts:1']));
    t.same([files, shared], [['streams/platform/clock.ts'], []]);
  },
);
