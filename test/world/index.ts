import { compose, offer } from '#src/compose.ts';
import { domain as ours } from '#src/domain/index.ts';
import type { Operations } from '#src/records/resource.ts';
import { burrow } from './burrows.ts';
import { operationsOf } from './operations.ts';
import { specimen } from './specimens.ts';
import { splinter } from './splinters.ts';
import { tending } from './tendings.ts';
import { whisper } from './whispers.ts';

/**
 * The resources that tests of the machinery work with, so that those of the application can be any: a tree, one with
 * every type of member, a join, a private one, and one whose parent cascades.
 */
export const ofTests: Operations[] = [
  operationsOf(burrow),
  operationsOf(specimen),
  operationsOf(tending),
  operationsOf(whisper),
  operationsOf(splinter),
];

/** The application as tests run it: with these resources besides its own, and without its effects. */
export const domain = compose({
  ...ours,
  effects: {},
  resources: [...ours.resources, ...ofTests.map(each => offer(each))],
});
