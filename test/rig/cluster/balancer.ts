import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answers, Part, until } from './part.ts';

export type BalancerKind = 'nginx' | 'haproxy';

const kinds = {
  nginx: { file: 'nginx.conf', args: (path: string) => ['-c', path, '-g', 'daemon off;'] },
  haproxy: { file: 'haproxy.cfg', args: (path: string) => ['-db', '-f', path] },
};

interface Options {
  kind: BalancerKind;
  folder: string;
  port: number;
  servers: number[];
}

/** The configuration in `deploy/` with local addresses, and without the servers in `out`. */
export function render({ kind, folder, port, servers }: Options, out: number[] = []): string {
  const text = readFileSync(new URL(`../../../deploy/${kinds[kind].file}`, import.meta.url), 'utf8');
  return text
    .replace(/(.*)\bserver(\d):3000(.*\n)/g, (_, start, number, rest) => {
      const index = Number(number) - 1;
      if (index >= servers.length) return '';
      return `${start}127.0.0.1:${servers[index]}${out.includes(index) ? rest.replace(';', ' down;') : rest}`;
    })
    .replace(/(listen |bind :)8080/, (_, word) => `${word.replace(':', '')}127.0.0.1:${port}`)
    .replaceAll(/\/run\/nginx|\/etc\/triport/g, folder);
}

/** nginx or HAProxy in front of the servers. */
export class Balancer extends Part {
  readonly #options: Options;
  readonly #path: string;

  constructor(options: Options) {
    const { kind, folder, port } = options;
    const path = join(folder, kinds[kind].file);
    super({
      name: kind,
      command: kind,
      args: kinds[kind].args(path),
      log: join(folder, `${kind}.log`),
      ready: () => answers(`http://127.0.0.1:${port}/health/live`),
    });
    this.#options = options;
    this.#path = path;
    this.#write();
  }

  /**
   * Takes a server out of rotation. nginx has no health checks, so it must happen before the server stops;
   * HAProxy notices by itself.
   */
  async takeOut(server: number): Promise<void> {
    if (this.#options.kind === 'nginx') await this.#reload([server]);
  }

  async putBack(): Promise<void> {
    if (this.#options.kind === 'nginx') await this.#reload([]);
  }

  /**
   * Until the old processes of nginx have finished their requests: they still send some to a server that is taken
   * out.
   */
  async #reload(out: number[]): Promise<void> {
    const old = this.children();
    this.#write(out);
    this.signal('SIGHUP');
    await until('nginx has reloaded', () => !this.children().some(child => old.includes(child)));
  }

  #write(out?: number[]): void {
    writeFileSync(this.#path, render(this.#options, out));
  }
}
