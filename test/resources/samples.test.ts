import t from 'tap';
import { text } from '../../schemas/common.ts';
import { contractOf } from '../../schemas/contract.ts';
import type { AnyResource } from '../../src/services/resource.ts';
import { type Caller, newBody, samples } from '../helper/records.ts';

t.test(
  'a made record fits its schema, and its sample where rules refuse what the schema suggests',
  async t => {
    const members = { code: text(3, 3, 'Three characters.', 'EUR'), note: text(1, 500, 'A note.', 'A note') };
    const contract = contractOf('Sampled', 'A record.', { members, sorts: [], filters: {} });
    const resource = { contract, plural: 'sampled', parentRelations: [] } as object as AnyResource;
    const call: Caller = async () => t.fail('there is nothing to ask') as never;
    const { code } = await newBody(call, resource);
    t.equal(String(code).length, 3);
    samples.sampled = { note: 'Fits' };
    t.match(await newBody(call, resource), { note: 'Fits' });
    t.match(await newBody(call, resource, { note: 'Asked for' }), { note: 'Asked for' });
  },
);
