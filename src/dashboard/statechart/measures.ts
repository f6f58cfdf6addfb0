/**
 * Measures of a drawing, px: those of src/audit/drawing/svg.ts, which makes room for the texts with
 * them and cannot be imported here, because it brings the whole of elkjs. A test compares the two.
 */
export const NAME_SIZE = 14;
export const LABEL_SIZE = 11.5;
export const LINE = 16;
export const HEADER = 30;
export const START_RADIUS = 5;
