/**
 * Limits of queries, each in one place: those of LIMIT-01 to LIMIT-08, and the memory of the query
 * threads. The maximum of all of it, beyond the memory of ingest:
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
 * Two things are not included: V8's space for young objects, a few MiB per thread; and each
 * thread's copies of unflushed rows that were queried, at most the rows that ingest holds plus the
 * days that late rows fall into, until the next flush. A single project gets at most two of the
 * three threads. A thread starts with the first query that needs it: an idle service has one, which
 * has done nothing.
 */

const MIB = 1024 * 1024;

/** Upstream timeout of a query (LIMIT-03), ms; excludes waiting for admission. */
export const QUERY_MS_MAX = 10_000;
/** Maximum points per series, counted over the range as requested, both ends (LIMIT-05). */
export const POINTS_MAX = 10_000;
/** Shortest step of a range (LIMIT-04), ms. */
export const STEP_MS_MIN = 30_000;

/**
 * Three: queries of projects with high usage hold at most two, so another project's query finds
 * one.
 */
export const THREADS = 3;
/**
 * One slice of thread time, ms: the longest wait of a project with low usage (TEN-21). If it were
 * shorter, more queries would start twice; if longer, readers would notice the wait.
 */
export const SLICE_MS = 500;
/**
 * Run time after which a query can be made to yield, ms. The rest of the slice is for it to stop.
 */
export const RUN_MS = SLICE_MS / 2;
/** Threads that list inventories: one is reserved for projects with low usage. */
export const LIST_THREADS = 2;
/** Threads that write exports: one is reserved for projects with low usage. */
export const EXPORT_THREADS = 2;
/** Far below ingest and alerting: two threads full of queries leave them nine tenths of a core. */
export const QUERY_NICENESS = 10;
/**
 * Heap of a thread, bytes: label sets, responses, parsed expressions. Beyond it the thread ends.
 */
export const HEAP_BYTES_MAX = 512 * MIB;
/** Heap of a thread that lists inventories, bytes: it caches nothing between lists. */
export const LIST_HEAP_BYTES_MAX = 128 * MIB;
/** Threads that replay rules: one is reserved for projects with low usage. */
export const REPLAY_THREADS = 2;
/** Heap of a thread that replays rules, bytes: a day of 20 VMs and the resulting commits. */
export const REPLAY_HEAP_BYTES_MAX = 256 * MIB;
/**
 * Memory of one query, bytes: columns that it reads and creates, and label sets that it creates.
 */
export const QUERY_BYTES_MAX = 512 * MIB;
/** About as many samples as a thread can read in the time limit of a query. */
export const QUERY_SAMPLES_MAX = 1_000_000_000;
/**
 * Maximum number of samples that a preview may have to read: sampling intervals times VMs. A thread
 * folds about that many in the time limit of a query; a week of 200 VMs is 4 million.
 */
export const PREVIEW_SAMPLES_MAX = 10_000_000;
/** Maximum number of VMs in one replay of a rule. */
export const REPLAY_VMS_MAX = 20;
/** Longest time range of one replay of a rule, seconds: a day. */
export const REPLAY_SECONDS_MAX = 86_400;
/** Maximum number of notifications listed by one replay; the response says if there were more. */
export const REPLAY_NOTIFICATIONS_MAX = 500;
/** Maximum size of all bodies in one response, characters: they fit even with their escapes. */
export const REPLAY_BODY_CHARACTERS_MAX = 2 * MIB;
/** Maximum number of firings listed by a preview. */
export const PREVIEW_FIRINGS_MAX = 1_000;
/**
 * Maximum number of instances listed by a preview. With the segments of each, a response has at
 * most 3 MB.
 */
export const PREVIEW_INSTANCES_MAX = 200;
/** Maximum number of segments of an instance's path listed by a preview, the newest ones. */
export const PREVIEW_SEGMENTS_MAX = 100;
/** Maximum number of VMs that a preview names as unknown. */
export const PREVIEW_UNKNOWN_NAMES_MAX = 20;
/**
 * Decoded columns cached by a thread, bytes. A week of one series of 200 VMs is 32 MB if the VMs
 * are polled together, otherwise 64 MB: enough for the panels of some dashboards.
 */
export const CACHE_BYTES_MAX = 256 * MIB;
/**
 * Selectors with their results cached by a thread, bytes. Most of it is on the heap: a few hundred
 * bytes per series and selector.
 */
export const PLANS_BYTES_MAX = 128 * MIB;
/** The part of the memory for planned selectors that one project may hold in a thread, bytes. */
export const PROJECT_PLANS_BYTES_MAX = 64 * MIB;
/** Parsed expressions cached by a thread, bytes; on the heap. */
export const PARSED_BYTES_MAX = 32 * MIB;
/** The part of the memory for parsed expressions that one project may hold in a thread, bytes. */
export const PROJECT_PARSED_BYTES_MAX = 8 * MIB;
