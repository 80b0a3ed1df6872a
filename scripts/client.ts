import { type Given, runCommand, UsageError } from '../src/command.ts';
import { OperatorError } from '../src/core/errors.ts';
import { clientFile } from './lib/client/clientFile.ts';
import { type Contract, contractOf, projectContract } from './lib/client/contract.ts';
import { writeGenerated } from './lib/client/generated.ts';
import { graphqlTypes, restTypes } from './lib/client/types.ts';

const usage = `npm run client -- <folder> [--from http://127.0.0.1:3000]: writes a typed TypeScript client into a folder: api.ts and
client.ts for REST, graphql-env.d.ts and schema.graphql for GraphQL. docs/client.md shows how to use them.

  --from  a running service whose contract is taken; by default it is openapi.yaml and schema.graphql of this project
  --key   an API key for that service, if it requires one; API_KEY of the environment by default

Run it again after a change of the API. Files that it did not write are never overwritten.

Example: npm run client -- ../shop/src/triport`;

const options = { from: { type: 'string' }, key: { type: 'string' } } as const;

async function writeClient({
  values: { from, key = process.env.API_KEY },
  positionals,
}: Given<typeof options>) {
  const [folder] = positionals;
  if (!folder) throw new UsageError('Name the folder of the client');
  const files =
    from === undefined
      ? await filesFor(projectContract())
      : await contractOf(from, key).then(filesFor).catch(refuse);
  const written = writeGenerated(folder, files);
  for (const { path, bytes } of written) console.log(`${path}  ${(bytes / 1000).toFixed(1)} kB`);
  console.log(
    'The project that uses them needs: npm install openapi-fetch; for GraphQL also gql.tada and graphql.',
  );
}

const filesFor = async ({ document, schema }: Contract) => ({
  'api.ts': await restTypes(document),
  'client.ts': clientFile,
  'graphql-env.d.ts': graphqlTypes(schema),
  'schema.graphql': schema,
});

/** What the generators throw at the contract of a stranger is no bug of ours. */
function refuse(error: Error): never {
  if (error instanceof OperatorError) throw error;
  throw new OperatorError(`The service has no contract that can be used: ${error.message}`);
}

await runCommand({ usage, options, most: 1, run: writeClient });
