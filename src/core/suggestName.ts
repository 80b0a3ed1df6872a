/** The known name that a misspelt one most likely means, if any is near enough to be meant. */
export function suggestName(name: string, known: readonly string[]): string | undefined {
  const typed = name.slice(0, 64).toLowerCase();
  const ranked = known
    .map(candidate => ({ candidate, steps: distance(typed, candidate.toLowerCase()) }))
    .sort((a, b) => a.steps - b.steps);
  const best = ranked[0];
  return best && best.steps < best.candidate.length && best.steps <= Math.max(2, best.candidate.length / 3)
    ? best.candidate
    : undefined;
}

/** How many letters to add, drop or change (Levenshtein). */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      const change = (row[j] ?? 0) + (letter === other ? 0 : 1);
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
