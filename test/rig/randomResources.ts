// Makes random resources by `npm run new` in a copy of the project, then checks and tests all of them. Run by hand:
//   node test/rig/randomResources.ts [seed] [count]

import { recordResources } from '../../src/resources.ts';
import { command, copyProject } from '../docs/handbook.ts';

const seed = Number(process.argv[2] ?? Date.now() % 1_000_000);
const count = Number(process.argv[3] ?? 20);
let state = seed;
/** A pseudo-random number below a limit. */
function draw(below: number): number {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}
const oneOf = <T>(choices: readonly T[]): T => choices[draw(choices.length)] as T;

const nouns = [
  'apple',
  'category',
  'order',
  'lineItem',
  'index',
  'check',
  'message',
  'match',
  'hour',
  'unitPrice',
  'value',
];
const members = [
  'title',
  'amount',
  'dueAt',
  'onTop',
  'class',
  'order',
  'group',
  'user2',
  'select',
  'endsOn',
  'note',
  'default',
];
const types = [
  'string',
  'text',
  'integer',
  'number',
  'boolean',
  'time',
  'date',
  'json',
  'a|b',
  'draft|sent|paid',
];

function drawResource(known: string[], n: number): string[] {
  const name = `${oneOf(nouns)}${n}`;
  const parents = [...Array(draw(3))].map((_, i) => {
    const kind = oneOf([...known, name]);
    return `${oneOf(['', `p${i}=`])}${kind}${kind === name || draw(3) === 0 ? '?' : ''}`;
  });
  const fields = [...Array(draw(7))].map(() => {
    const type = oneOf(types);
    const unique = !/text|json|boolean|\|/.test(type) && draw(4) === 0 ? ':unique' : '';
    return `${oneOf(members)}:${type}${oneOf(['', '', '?'])}${unique}`;
  });
  return [
    name,
    ...(parents.length ? ['--belongs-to', parents.join()] : []),
    ...(fields.length ? ['--fields', fields.join()] : []),
  ];
}

const folder = copyProject();
const known = recordResources.map(({ name }) => name);
console.log(`Seed ${seed}, in ${folder}`);
const made = new Set(known);
for (let n = 1; made.size < known.length + count && n < 5 * count; n++) {
  const given = drawResource([...made], n);
  const { code, output } = await command(
    `npm run -s new -- ${given.map(part => `'${part}'`).join(' ')}`,
    folder,
  );
  console.log(
    code === 0 ? 'made   ' : 'refused',
    given.join(' '),
    code === 0 ? '' : `\n        ${output.trim()}`,
  );
  if (code === 0) made.add(given[0] as string);
  else if (!output.includes('See --help.')) throw new Error('It failed after it began to write.');
}
for (const step of [
  'npm run check',
  'npm test -- embedded test/resources/*.test.ts test/docs/openapi.test.ts test/access/graphql.test.ts test/http/*.test.ts test/rest/*.test.ts test/graphql/*.test.ts',
  'npm test -- postgres test/resources/*.test.ts',
]) {
  const { code, output } = await command(step, folder);
  console.log(`${step}: ${code}\n${output.slice(code === 0 ? -300 : -20_000)}`);
}
