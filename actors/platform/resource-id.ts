/**
 * Ids allowed in a resource name, for a regular expression; project ids are shorter. `.` and `..`
 * are not ids: browsers and proxies resolve them away in the path of a page (RFC 3986, 5.2.4). The
 * id ends its text, or a slash follows it.
 */
export const ID = '(?!\\.{1,2}(?:/|$))[A-Za-z0-9_.:-]{1,128}';
