/** Finds the known name nearest to a misspelt one, by edit distance, for "did you mean". */

/** The known name nearest to `given`; undefined if none is near enough to be the intended one. */
export function closestName(given: string, known: readonly string[]): string | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const name of known) {
    const distance = editDistance(given, name);
    if (distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { name, distance };
  }
  // A third of the name may be wrong: enough for SVC_PUBLICURL, too little for SVC_FOO.
  return best && best.distance <= Math.ceil(given.length / 3) ? best.name : undefined;
}

/** Levenshtein distance: insertions, deletions and replacements of one character each. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
    previous = row;
  }
  return previous[b.length] ?? 0;
}
