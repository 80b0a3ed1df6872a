import { compose } from '#src/compose.ts';
import { effects } from './effects.ts';
import { handlers } from './handlers/index.ts';
import { resources } from './resources.ts';

/** Everything that is specific to this application. ARCHITECTURE.md says where each kind of addition goes. */
export const domain = compose({ resources, handlers, effects, pages: [], jobs: [] });
