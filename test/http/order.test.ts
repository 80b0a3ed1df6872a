import { fastify } from 'fastify';
import t from 'tap';
import gate from '#plugins/http/admission/gate.ts';
import identity from '#plugins/http/admission/identity.ts';
import limits from '#plugins/http/admission/limits.ts';
import pressure from '#plugins/http/admission/pressure.ts';
import contexts from '#plugins/http/context.ts';
import cors from '#plugins/http/cors.ts';
import logging from '#plugins/http/logging.ts';
import methods from '#plugins/http/methods.ts';
import proxies from '#plugins/http/proxies.ts';
import routing from '#plugins/http/routes.ts';
import streams from '#plugins/http/streams.ts';
import tracing from '#plugins/http/tracing.ts';
import { standIn } from '#test/helper/standIn.ts';

/** What must stand before a plugin, because a promise depends on it. */
const needs = [
  [tracing, 'routing'],
  // A cut connection costs nothing more, not even a line of the log.
  [proxies, 'connections'],
  [logging, 'routing', 'connections', 'proxies'],
  [cors, 'headers', 'logging'],
  [pressure, 'routing', 'headers', 'logging', 'cors'],
  // The CORS plugin adds a route for OPTIONS to paths that `methods` would take.
  [methods, 'cors'],
  [identity, 'proxies', 'pressure'],
  [limits, 'identity'],
  // No route comes before the gate, and each keeps the parsers of the moment.
  [gate, 'parsing', 'methods', 'limits'],
  [contexts, 'pressure', 'gate'],
  [streams, 'contexts'],
] as const;

for (const [plugin, ...names] of needs)
  for (const late of names)
    t.test(`a plugin before '${late}', which it needs, stops the start: ${names}`, async t => {
      const app = fastify();
      t.teardown(() => app.close());
      for (const name of names.filter(name => name !== late)) app.register(standIn(name));
      app.register(plugin as never, {}).register(standIn(late));
      const message = new RegExp(`The dependency '${late}' of plugin '\\w+' is not registered`);
      await t.rejects(async () => app.ready(), { code: 'FST_ERR_PLUGIN_DEPENDENCY_NOT_REGISTERED', message });
    });

// Bug: the gate knew no scope of such a route, and let everybody pass.
t.test('a route before the gate stops the start', async t => {
  const app = fastify();
  t.teardown(() => app.close());
  await app.register(routing);
  t.throws(() => app.get('/leak', () => 'secret'), { message: 'Register /leak after the gate.' });
});
