import { Type } from '@sinclair/typebox';
import { strict } from './common.ts';

const state = (...values: string[]) => Type.String({ enum: values, examples: [values[0]] });

export const Live = strict({ status: state('ok') }, { $id: 'Live', description: 'The process answers.' });

export const Ready = strict(
  { status: state('ok'), database: state('embedded', 'postgres') },
  { $id: 'Ready', description: 'The service can do its work: the database answers and is up to date.' },
);

export const Home = strict(
  {
    name: Type.String({ examples: ['triport'] }),
    version: Type.String({ examples: ['0.1.0'] }),
    description: Type.String(),
    links: Type.Record(Type.String(), Type.String(), { description: 'Paths by name.' }),
    counts: Type.Optional(
      strict(
        { users: Type.Integer({ examples: [1] }), posts: Type.Integer({ examples: [3] }) },
        { description: 'How many records there are; absent where keys are asked for.' },
      ),
    ),
  },
  { $id: 'Home', description: 'What this service is and where its parts are.' },
);
