import t from 'tap';
import { build } from '../helper/app.ts';

// biome-ignore lint/suspicious/noExplicitAny: a document of any shape
type Document = any;

t.test('the document says what each operation needs, as its route has it', async t => {
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
      t.ok(operation.responses[401] && operation.responses[403], `${about} may be refused`);
    }
  }
  t.ok(guarded >= 17, `${guarded} operations are guarded`);
});

t.test('an open service says that credentials are not needed', async t => {
  const { app } = await build(t);
  const { get } = (app.swagger() as Document).paths['/api/users'];
  t.same(get.security, [{}, { bearer: ['read'] }]);
});
