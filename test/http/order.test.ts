import { fastify } from 'fastify';
import t from 'tap';
import gate from '#plugins/http/admission/gate.ts';
import identity from '#plugins/http/admission/identity.ts';
import limits from '#plugins/http/admission/limits.ts';
import pressure from '#plugins/http/admission/pressure.ts';
import headers from '#plugins/http/headers.ts';
import logging from '#plugins/http/logging.ts';
import methods from '#plugins/http/methods.ts';
import proxies from '#plugins/http/proxies.ts';

for (const [early, late, missing] of [
  [limits, identity, 'identity'],
  [gate, methods, 'methods'],
  [pressure, headers, 'routing'],
  [logging, proxies, 'routing'],
] as const)
  t.test(`a plugin before '${missing}', which it needs, stops the start`, async t => {
    const app = fastify();
    t.teardown(() => app.close());
    app.register(early as never, {}).register(late as never, {});
    const message = new RegExp(`The dependency '${missing}' of plugin '\\w+' is not registered`);
    await t.rejects(async () => app.ready(), { code: 'FST_ERR_PLUGIN_DEPENDENCY_NOT_REGISTERED', message });
  });
