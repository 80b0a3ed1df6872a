import type { TSchema } from '@sinclair/typebox';
import { withArticle } from '../../src/core/text.ts';
import { type AnyResource, exampleIn, type Operations } from '../../src/records/resource.ts';

export type Examples = ReturnType<typeof examplesOf>;

/** What the document and the browser tool show, in the words of the resources. */
export function examplesOf(all: Operations[]) {
  const shown = exampleIn(all.map(({ resource }) => resource));
  const [relation] = shown.parentRelations;
  const { parent } = relation ?? { parent: shown };
  const [one, above] = [memberOf(shown), memberOf(parent)];
  const up = relation ? ` ${relation.name} { ${above.name} }` : '';
  const down = relation ? `\n    ${relation.children}(limit: 3) {\n      ${one.name}\n    }` : '';
  const creatable = all.find(({ create }) => create)?.resource;
  return {
    query: `query Newest($limit: Int) { ${shown.plural}(limit: $limit) { ${one.name}${up} } }`,
    data: {
      [parent.plural]: [
        { [above.name]: above.value, ...(relation && { [relation.children]: [{ [one.name]: one.value }] }) },
      ],
    },
    tabs: [
      {
        query: `# Ctrl-Enter runs the query, Ctrl-Space suggests fields.
query FirstLook {
  ${parent.plural}Count
  ${parent.plural}(limit: 5) {
    id
    ${above.name}${down}
  }
}
`,
      },
      ...(creatable ? [creationOf(creatable)] : []),
      {
        query: `# Shows each change of ${withArticle(shown.noun)} when it is committed, until you stop it.
subscription Follow {
  ${shown.name}Changed {
    action
    changed
    ${shown.name} {
      ${one.name}
    }
  }
}
`,
      },
    ],
  };
}

/** The first member of a record, which tells most. */
function memberOf({ contract }: AnyResource) {
  const [[name = '', member] = []] = Object.entries<TSchema>(contract.create.properties);
  return { name, value: member?.examples?.[0] };
}

/** A mutation with all that a new record needs. */
function creationOf(resource: AnyResource) {
  const { title, noun, contract, unique } = resource;
  const { properties, required = [] } = contract.create;
  const input = Object.fromEntries(required.map(name => [name, properties[name]?.examples?.[0]]));
  const refused = unique.map(({ taken }) => `\n# Running it twice is refused: ${taken.code}.`).join('');
  const query = `# Creates ${withArticle(noun)}. The variables are below.${refused}
mutation Create${title}($input: ${contract.create.$id}Input!) {
  create${title}(input: $input) {
    id
    ${memberOf(resource).name}
  }
}
`;
  return { query, variables: JSON.stringify({ input }, null, 2) };
}
