import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { answers, Part } from '../cluster/part.ts';
import { makeFolder, type Service } from '../process.ts';
import { freePorts } from './ports.ts';

/**
 * `strict` keeps what RFC 9111 allows a shared cache to keep: with `no-cache` it asks the server each time whether
 * that is still current, and a response that says nothing is kept for as long as the cache likes. `careless` keeps
 * everything, for requests that agree in what `Vary` names.
 */
export type CacheKind = 'strict' | 'careless';

interface Ports {
  service: number;
  inner: number;
  cache: number;
}

/**
 * nginx on its own does not store what says `no-cache`: the inner server translates it to "stored, and over since
 * 1970".
 */
const configOf = (kind: CacheKind, folder: string, { service, inner, cache }: Ports) => `
pid ${folder}/nginx.pid;
error_log stderr warn;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  proxy_cache_path ${folder}/cache keys_zone=shared:1m;
  map $upstream_http_cache_control $expires {
    ~^no-cache @1;
  }
  map $upstream_http_cache_control $control {
    ~^no-cache "";
    default $upstream_http_cache_control;
  }
  server {
    listen 127.0.0.1:${inner};
    location / {
      proxy_pass http://127.0.0.1:${service};
      proxy_hide_header Cache-Control;
      add_header Cache-Control $control always;
      add_header X-Accel-Expires $expires always;
    }
  }
  server {
    listen 127.0.0.1:${cache};
    location / {
      proxy_pass http://127.0.0.1:${inner};
      proxy_cache shared;
      proxy_cache_revalidate on;
      proxy_cache_valid any 1h;
      ${kind === 'careless' ? 'proxy_ignore_headers Cache-Control X-Accel-Expires;' : ''}
      add_header X-Cache-Status $upstream_cache_status always;
      add_header X-Upstream-Status $upstream_status always;
    }
  }
}
`;

/** A cache that many clients share, in front of a server. */
export async function openCache(t: Test, { port: service }: Service, kind: CacheKind) {
  const folder = makeFolder(t);
  const [inner = 0, cache = 0] = await freePorts(2);
  const path = join(folder, 'nginx.conf');
  writeFileSync(path, configOf(kind, folder, { service, inner, cache }));
  const url = `http://127.0.0.1:${cache}`;
  const nginx = new Part({
    name: 'nginx',
    command: 'nginx',
    args: ['-c', path, '-g', 'daemon off;'],
    log: join(folder, 'nginx.log'),
    ready: () => answers(`${url}/health/live`),
  });
  t.teardown(() => nginx.stop());
  await nginx.start();
  return { url };
}
