import { compose } from '../compose.ts';
import { handlers } from './handlers/index.ts';
import { resources } from './resources.ts';

/** What makes this application of the service. ARCHITECTURE.md has an example of each. */
export const domain = compose({ resources, handlers, pages: [], jobs: [] });
