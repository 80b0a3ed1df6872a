import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { answers, Part } from './part.ts';

export type BalancerKind = 'nginx' | 'haproxy';

const kinds = {
  nginx: { file: 'nginx.conf', args: (path: string) => ['-c', path, '-g', 'daemon off;'] },
  haproxy: { file: 'haproxy.cfg', args: (path: string) => ['-db', '-f', path] },
};

interface Place {
  kind: BalancerKind;
  folder: string;
  port: number;
  servers: number[];
}

/** The file of `deploy/`, with addresses of this machine, and without the servers that are taken out. */
export function render({ kind, folder, port, servers }: Place, out: number[] = []): string {
  const text = readFileSync(new URL(`../../../deploy/${kinds[kind].file}`, import.meta.url), 'utf8');
  return text
    .replace(/\bserver(\d):3000(.*)/g, (_, number, rest) => {
      const index = Number(number) - 1;
      return `127.0.0.1:${servers[index]}${out.includes(index) ? rest.replace(';', ' down;') : rest}`;
    })
    .replace(/(listen |bind :)8080/, (_, word) => `${word.replace(':', '')}127.0.0.1:${port}`)
    .replaceAll('/run/nginx', folder);
}

/** A real balancer in front of the servers. */
export class Balancer extends Part {
  readonly #place: Place;
  readonly #path: string;

  constructor(place: Place) {
    const { kind, folder, port } = place;
    const path = join(folder, kinds[kind].file);
    super({
      name: kind,
      command: kind,
      args: kinds[kind].args(path),
      log: join(folder, `${kind}.log`),
      ready: () => answers(`http://127.0.0.1:${port}/health/live`),
    });
    this.#place = place;
    this.#path = path;
    this.#write();
  }

  /**
   * Sends nobody to this server any more. nginx does not ask its servers whether they are ready, so it must be
   * told before one stops; HAProxy does ask.
   */
  takeOut(server: number): void {
    if (this.#place.kind === 'nginx') this.#reload([server]);
  }

  putBack(): void {
    if (this.#place.kind === 'nginx') this.#reload([]);
  }

  #reload(out: number[]): void {
    this.#write(out);
    this.signal('SIGHUP');
  }

  #write(out?: number[]): void {
    writeFileSync(this.#path, render(this.#place, out));
  }
}
