import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** An address whose server can be exchanged, as a failover does it: a proxy for TCP. */
export class Address {
  readonly port: number;
  #target: number;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer(client => this.#join(client));

  constructor(port: number, target: number) {
    this.port = port;
    this.#target = target;
  }

  async open(): Promise<void> {
    this.#server.listen(this.port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** From now on to this port; what is connected is cut. */
  lead(target: number): void {
    this.#target = target;
    this.#cut();
  }

  close(): void {
    this.#server.close();
    this.#cut();
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.pipe(to);
      // Its end is the end of both.
      from.on('error', () => {}).on('close', () => this.#sockets.delete(from) && to.destroy());
    }
  }
}
