import t from 'tap';
import { build } from '../helper/app.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape
type Document = any;

t.test('the document states the scope that each route requires', async t => {
  const { app } = await build(t, { settings: { AUTH_MODE: 'required' } });
  const document = app.swagger() as Document;
  t.match(document.components.securitySchemes, { bearer: { type: 'http', scheme: 'bearer' } });
  let guarded = 0;
  for (const { method, url, config, schema } of app.routes) {
    const path = url.replace(/:(\w+)/g, '{$1}');
    const operation = document.paths[path]?.[String(method).toLowerCase()];
    if (!operation || schema?.hide) continue;
    const about = `${method} ${url}`;
    if (config?.scope === 'public') t.notOk(operation.security ?? operation.responses[401], about);
    else {
      guarded++;
      t.same(operation.security, [{ bearer: [config?.scope] }], about);
      t.ok(operation.responses[401] && operation.responses[403], `${about} documents 401 and 403`);
    }
  }
  t.ok(guarded >= 17, `${guarded} operations are guarded`);
});

t.test('the document of an open service makes credentials optional', async t => {
  const { app } = await build(t);
  const { get } = (app.swagger() as Document).paths['/api/users'];
  t.same(get.security, [{}, { bearer: ['read'] }]);
});
