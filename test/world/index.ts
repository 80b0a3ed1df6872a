import { resourceFields } from '../../plugins/graphql/resource.ts';
import { resourceRoutes } from '../../plugins/rest/resource.ts';
import { compose } from '../../src/compose.ts';
import { domain as ours } from '../../src/domain/index.ts';
import { burrows } from './burrows.ts';
import { specimens } from './specimens.ts';
import { splinters } from './splinters.ts';
import { tendings } from './tendings.ts';
import { whispers } from './whispers.ts';

/**
 * The resources that tests of the machinery work with, so that those of the application can be any: a tree, one with
 * every type of member, a join, a private one, and one whose parent cascades.
 */
const ofTests = [burrows, specimens, tendings, whispers, splinters].map(each => ({
  ...each,
  routes: [resourceRoutes(each)],
  fields: resourceFields(each),
}));

/** The application as tests run it: with these besides its own. */
export const domain = compose({ ...ours, resources: [...ours.resources, ...ofTests] });
