import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answers, Part, until } from './part.ts';

interface Options {
  folder: string;
  port: number;
  /** The ports of at most three servers. */
  servers: number[];
}

/** nginx in front of the servers, with the configuration in `deploy/` and local addresses. */
export class Balancer extends Part {
  readonly #options: Options;
  readonly #path: string;

  constructor(options: Options) {
    const { folder, port } = options;
    const path = join(folder, 'nginx.conf');
    super({
      name: 'nginx',
      command: 'nginx',
      args: ['-c', path, '-g', 'daemon off;'],
      log: join(folder, 'nginx.log'),
      ready: () => answers(`http://127.0.0.1:${port}/health/live`),
    });
    this.#options = options;
    this.#path = path;
    this.#write();
  }

  /** Takes a server out of rotation. nginx has no health checks, so it must happen before the server stops. */
  takeOut(server: number): Promise<void> {
    return this.#reload(server);
  }

  putBack(): Promise<void> {
    return this.#reload();
  }

  /**
   * Reloads nginx and waits until its old processes have finished their requests: they still send some to a server
   * that is taken out.
   */
  async #reload(out?: number): Promise<void> {
    const old = this.children();
    this.#write(out);
    this.signal('SIGHUP');
    await until('nginx has reloaded', () => !this.children().some(child => old.includes(child)));
  }

  #write(out?: number): void {
    const { folder, port, servers } = this.#options;
    const text = readFileSync(new URL('../../../deploy/nginx.conf', import.meta.url), 'utf8')
      .replace(/ *server server(\d):3000(.*);\n/g, (_, number, options) => {
        const index = Number(number) - 1;
        const local = `server 127.0.0.1:${servers[index]}${options}${index === out ? ' down' : ''};\n`;
        return index < servers.length ? local : '';
      })
      .replace('listen 8080', `listen 127.0.0.1:${port}`)
      .replaceAll(/\/run\/nginx|\/etc\/triport/g, folder);
    writeFileSync(this.#path, text);
  }
}
