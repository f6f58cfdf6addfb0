/**
 * Measures of a diagram, px. They equal those of src/audit/drawing/svg.ts, which reserves space for
 * the texts and cannot be imported here, because it pulls in all of elkjs. A test compares the two.
 */
export const NAME_SIZE = 14;
export const LABEL_SIZE = 11.5;
export const LINE = 16;
export const HEADER = 30;
export const START_RADIUS = 5;
