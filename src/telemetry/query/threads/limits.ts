/**
 * Limits of queries, each in one place: those of LIMIT-01 to LIMIT-08, and what the query
 * threads may take of memory. The largest that all of it ever is, beyond what ingest holds:
 *
 *     one thread   its heap                            HEAP_BYTES_MAX         512 MiB
 *                  columns kept before a query begins  CACHE_BYTES_MAX        256 MiB
 *                  columns that the query adds         QUERY_BYTES_MAX        512 MiB
 *                  columns of unflushed rows           PLANS_BYTES_MAX        128 MiB
 *     three        of them (THREADS)                                        4,224 MiB
 *     lists        the heaps of two more threads       LIST_HEAP_BYTES_MAX    256 MiB
 *     exports      the heaps of two more threads       HEAP_BYTES_MAX       1,024 MiB
 *     replays      the heaps of two more threads       REPLAY_HEAP_BYTES_MAX  512 MiB
 *     together                                                              6,016 MiB
 *
 * besides V8's room for young objects, some MiB a thread, and what each thread has copied of
 * unflushed rows that were asked for: never more than ingest has of them, and of the days that late
 * ones fall into, until the next flush. One project alone has two threads of the three at most, and
 * a thread starts with the first query that needs it: an idle service has one, which has done
 * nothing.
 */

const MIB = 1024 * 1024;

/** Upstream timeout of a query (LIMIT-03), ms; waiting for admission is not in it. */
export const QUERY_MS_MAX = 10_000;
/** Points a series, counted over the range as requested, both ends (LIMIT-05). */
export const POINTS_MAX = 10_000;
/** Shortest step of a range (LIMIT-04), ms. */
export const STEP_MS_MIN = 30_000;

/** Three: queries of projects that used much hold two at most, so that another's query finds one. */
export const THREADS = 3;
/**
 * One slice of thread time, ms: the longest wait of a project that used little (TEN-21). Shorter, and
 * more queries start twice; longer, and a reader notices the wait.
 */
export const SLICE_MS = 500;
/** How long a query runs before it makes room, ms. The rest of the slice is for it to stop. */
export const RUN_MS = SLICE_MS / 2;
/** Threads that list inventories: one is left for projects that used little. */
export const LIST_THREADS = 2;
/** Threads that write exports: one is left for projects that used little. */
export const EXPORT_THREADS = 2;
/** Far below ingest and alerting: two threads full of queries leave them nine tenths of a core. */
export const QUERY_NICENESS = 10;
/** Heap of a thread, bytes: label sets, answers, what was parsed. Past it the thread ends. */
export const HEAP_BYTES_MAX = 512 * MIB;
/** Of the thread that lists inventories: it keeps nothing from one list to the next. */
export const LIST_HEAP_BYTES_MAX = 128 * MIB;
/** Threads that replay rules: one is left for projects that used little. */
export const REPLAY_THREADS = 2;
/** Of a thread that replays rules: a day of 20 VMs, and the commits that it leads to. */
export const REPLAY_HEAP_BYTES_MAX = 256 * MIB;
/** Memory of one query: columns it reads and makes, and what it makes of label sets. */
export const QUERY_BYTES_MAX = 512 * MIB;
/** About as many samples as a thread looks at in the time that a query has. */
export const QUERY_SAMPLES_MAX = 1_000_000_000;
/**
 * Samples that a preview may have to look at: sampling intervals times VMs. About as many as a
 * thread folds in the time that a query has; a week of 200 VMs is 4 million.
 */
export const PREVIEW_SAMPLES_MAX = 10_000_000;
/** VMs of one replay of a rule, the length of its history, and what it lists. */
export const REPLAY_VMS_MAX = 20;
/** Longest stretch that one replay of a rule covers, seconds: a day. */
export const REPLAY_SECONDS_MAX = 86_400;
/** Notifications that one replay lists at most; the answer says when there were more. */
export const REPLAY_NOTIFICATIONS_MAX = 500;
/** All bodies of one answer, as characters: with their escapes they fit in an answer. */
export const REPLAY_BODY_CHARACTERS_MAX = 2 * MIB;
/** Firings that a preview lists. */
export const PREVIEW_FIRINGS_MAX = 1_000;
/** Instances that a preview lists, and segments of each: an answer of 3 MB at the very most. */
export const PREVIEW_INSTANCES_MAX = 200;
/** Segments of an instance's path that a preview lists at most, the newest ones. */
export const PREVIEW_SEGMENTS_MAX = 100;
/** VMs that a preview names as unknown. */
export const PREVIEW_UNKNOWN_NAMES_MAX = 20;
/**
 * Decoded columns that a thread keeps, bytes. A week of one series of 200 VMs is 32 MB where the
 * VMs are polled together, else 64 MB: room for what some dashboards show.
 */
export const CACHE_BYTES_MAX = 256 * MIB;
/**
 * Selectors with what they found, of a thread and of one project in it. Most of it is on the heap:
 * some hundred bytes a series and selector.
 */
export const PLANS_BYTES_MAX = 128 * MIB;
/** Of the memory for planned selectors, what one project may hold in a thread, bytes. */
export const PROJECT_PLANS_BYTES_MAX = 64 * MIB;
/** Parsed expressions, of a thread and of one project in it; on the heap. */
export const PARSED_BYTES_MAX = 32 * MIB;
/** Of the memory for parsed expressions, what one project may hold in a thread, bytes. */
export const PROJECT_PARSED_BYTES_MAX = 8 * MIB;
