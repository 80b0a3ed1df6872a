import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { answers, Part } from './part.ts';

interface Options {
  folder: string;
  port: number;
  /** The metrics ports of servers and workers, by name. */
  targets: Map<string, number>;
}

const deploy = fileURLToPath(new URL('../../../deploy', import.meta.url));

/** Renders the configuration in `deploy/` with local addresses and an interval of a second. */
function render(targets: Map<string, number>): string {
  const { rule_files, scrape_configs } = parse(readFileSync(join(deploy, 'prometheus.yml'), 'utf8'));
  // JSON is valid YAML.
  return JSON.stringify({
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: rule_files.map((file: string) => join(deploy, file)),
    scrape_configs: scrape_configs.map(({ job_name }: { job_name: string }) => ({
      job_name,
      static_configs: [...targets].map(([instance, port]) => ({
        targets: [`127.0.0.1:${port}`],
        labels: { instance },
      })),
    })),
  });
}

/** One line of a graph: its labels, and its values with times in seconds. */
export interface Series {
  metric: Record<string, string>;
  values: [number, string][];
}

/** A Prometheus that collects the metrics of a cluster and evaluates our alerts. */
export class Prometheus extends Part {
  readonly url: string;

  constructor({ folder, port, targets }: Options) {
    const path = join(folder, 'prometheus.json');
    const url = `http://127.0.0.1:${port}`;
    super({
      name: 'prometheus',
      command: 'prometheus',
      args: [
        `--config.file=${path}`,
        `--storage.tsdb.path=${join(folder, 'prometheus')}`,
        `--web.listen-address=127.0.0.1:${port}`,
      ],
      log: join(folder, 'prometheus.log'),
      ready: () => answers(`${url}/-/ready`),
    });
    this.url = url;
    writeFileSync(path, render(targets));
  }

  /** Returns the values of an expression for every second since `from`. */
  async query(expression: string, from: number): Promise<Series[]> {
    const range = { query: expression, start: `${from / 1000}`, end: `${Date.now() / 1000}`, step: '1' };
    return (await this.ask<{ result: Series[] }>(`query_range?${new URLSearchParams(range)}`)).result;
  }

  async ask<T>(path: string): Promise<T> {
    const { status, error, data } = (await (await fetch(`${this.url}/api/v1/${path}`)).json()) as Answer<T>;
    if (status !== 'success') throw new Error(`Prometheus: ${error}`);
    return data;
  }
}

interface Answer<T> {
  status: string;
  error?: string;
  data: T;
}
