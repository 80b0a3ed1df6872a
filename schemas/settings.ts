import type { Static } from '@sinclair/typebox';
import { strict } from './parts/common.ts';
import { serviceSettings } from './service/settings.ts';

/**
 * Every environment variable: add yours after those of the service. A `secret` may also be given as NAME_FILE, the path
 * of a file. `.env.example` and the list in docs/settings.md are generated from this file.
 */
export const Settings = strict({ ...serviceSettings });
export type Settings = Static<typeof Settings>;
