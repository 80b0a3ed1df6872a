import rateLimit from '@fastify/rate-limit';
import fp from 'fastify-plugin';
import type { Settings } from '../schemas/settings.ts';
import { AppError } from '../src/core/errors.ts';

/** How much one caller may ask for. A route leaves the count with `config: { rateLimit: false }`. */
export default fp<{ settings: Settings }>(async (app, { settings }) => {
  // To read about the service costs nothing. The limiter looks at a route when it is made: this comes first.
  app.addHook('onRoute', route => {
    if (/^\/docs(\/|$)/.test(route.url)) route.config = { ...route.config, rateLimit: false };
  });
  await app.register(rateLimit, {
    max: settings.RATE_LIMIT_MAX,
    timeWindow: settings.RATE_LIMIT_WINDOW * 1000,
    enableDraftSpec: true,
    // How many callers are remembered; with fewer, many addresses would push each other out of the count.
    cache: 50_000,
    errorResponseBuilder: (_request, { ttl }) =>
      new AppError('rate_limited', 'Too many requests.', {
        code: 'rate_limited',
        retryAfter: Math.ceil(ttl / 1000),
      }),
  });
});
