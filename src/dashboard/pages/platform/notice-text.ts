/** The text of a notice as people read it: pure. */

/**
 * Without the resource names that stand in brackets behind what something is called; who needs them
 * finds them in the audit trail. What has no other name keeps its own.
 */
export function shownText(text: string): string {
  return text.replace(/ \((?:people|projects)\/[^\s)]+\)/g, '');
}
