/** Ids allowed in a resource name, for a regular expression; project ids are shorter. */
export const ID = '[A-Za-z0-9_.:-]{1,128}';
