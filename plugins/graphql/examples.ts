import type { TSchema } from '@sinclair/typebox';
import { requiredExamples } from '#schemas/parts/contract.ts';
import { withArticle } from '#src/core/text.ts';
import type { AnyResource, Operations } from '#src/records/resource.ts';

export type Examples = ReturnType<typeof exampleOperations>;

/** What OpenAPI and the browser tool show of one resource, and of what it belongs to. */
export function exampleOperations(all: Operations[], shown: AnyResource) {
  const [relation] = shown.parentRelations;
  const above = relation?.parent ?? shown;
  const [[member, value], [ofAbove, valueOfAbove]] = [firstMember(shown), firstMember(above)];
  const upward = relation ? ` ${relation.name} { ${ofAbove} }` : '';
  const downward = relation ? ` ${relation.children}(limit: 3) { ${member} }` : '';
  const children = relation && { [relation.children]: [{ [member]: value }] };
  const look = `{ ${above.plural}Count\n  ${above.plural}(limit: 5) {\n    ${ofAbove}${downward}\n  } }`;
  return {
    /** A first query, for whoever has never seen the endpoint. */
    look,
    query: `query Newest($limit: Int) { ${shown.plural}(limit: $limit) { ${member}${upward} } }`,
    data: { [above.plural]: [{ [ofAbove]: valueOfAbove, ...children }] },
    tabs: [
      {
        comment: 'Ctrl-Enter runs the query, Ctrl-Space suggests fields.',
        query: `query FirstLook ${look}`,
      },
      ...all.flatMap(({ create, resource }) => (create ? creationTab(resource) : [])).slice(0, 1),
      {
        comment: `Shows each change of ${withArticle(shown.noun)} when it is committed, until you stop it.`,
        query: `subscription Follow { ${shown.name}Changed { action changed ${shown.name} { ${member} } } }`,
      },
    ],
  };
}

/** The first member of a record, with its example. */
function firstMember({ contract }: AnyResource): [name: string, value: unknown] {
  const [[name = '', member] = []] = Object.entries<TSchema>(contract.create.properties);
  return [name, member?.examples?.[0]];
}

/** The tab that creates a record with all members that it needs. */
function creationTab(resource: AnyResource) {
  const { title, noun, contract, unique } = resource;
  const { $id } = contract.create;
  const refused = unique.map(({ taken }) => `\n# Running it twice is refused: ${taken.code}.`);
  const [member] = firstMember(resource);
  return {
    comment: `Creates ${withArticle(noun)}. The variables are below.${refused.join('')}`,
    query: `mutation Create${title}($input: ${$id}Input!) { create${title}(input: $input) { id ${member} } }`,
    variables: JSON.stringify({ input: requiredExamples(contract.create) }, null, 2),
  };
}
