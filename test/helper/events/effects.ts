import type { ChangeWithRecord, Effect, Effects, EffectTools } from '#src/effects/effect.ts';

/** A call of an effect, as a test notes it. */
export interface Seen extends ChangeWithRecord<never> {
  name: string;
  key: string;
}

/** Makes effects of these names that note what they get, and then do this. */
export function noting(names: string[], then: (seen: Seen, tools: EffectTools) => unknown = () => {}) {
  const seen: Seen[] = [];
  const noted =
    (name: string): Effect =>
    async (change, tools) => {
      const call = { ...change, name, key: tools.key };
      seen.push(call);
      await then(call, tools);
    };
  const effects: Effects = Object.fromEntries(names.map(name => [name, noted(name)]));
  return { seen, effects };
}
