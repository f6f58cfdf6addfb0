/** The display text of a notice, for the command line and the dashboard. Pure. */

/**
 * Removes resource names in brackets after a display name; they can be found in the audit trail. A
 * resource without a display name keeps its resource name.
 */
export function displayedText(text: string): string {
  return text.replace(/ \((?:people|projects)\/[^\s)]+\)/g, '');
}
