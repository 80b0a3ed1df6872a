import { Type } from '@sinclair/typebox';
import { serviceName } from '#schemas/name.ts';
import { oneOf, strict } from '#schemas/parts/common.ts';

export const Live = strict(
  { status: oneOf(['ok'], 'Always `ok`.') },
  { $id: 'Live', description: 'The process answers.' },
);

export const Ready = strict(
  {
    status: oneOf(['ok'], 'Always `ok`; otherwise the response is a 503.'),
    database: oneOf(['embedded', 'postgres'], 'The kind of the database.'),
  },
  { $id: 'Ready', description: 'The service can do its work: the database answers and is up to date.' },
);

/** The schema of `GET /`, which shows these counts as an example. */
export const homeSchema = (counts: Record<string, number>) =>
  strict(
    {
      name: Type.String({ examples: [serviceName] }),
      version: Type.String({ examples: ['0.1.0'] }),
      description: Type.String(),
      links: Type.Record(Type.String(), Type.String(), { description: 'Paths by name.' }),
      counts: Type.Optional(
        Type.Record(Type.String(), Type.Integer(), {
          description:
            'How many records there are, by name; absent for callers who may not read, and while the database is away.',
          examples: [counts],
        }),
      ),
    },
    { $id: 'Home', description: 'What the service is, and the paths of its parts.' },
  );
