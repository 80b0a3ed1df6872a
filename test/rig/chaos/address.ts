import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy whose target can change, as in a failover. */
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

  /** Sends new connections to this port and closes the existing ones. */
  pointTo(target: number): void {
    this.#target = target;
    this.#disconnect();
  }

  close(): void {
    this.#server.close();
    this.#disconnect();
  }

  #disconnect(): void {
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
      // When one side closes, so does the other.
      from.on('error', () => {}).on('close', () => this.#sockets.delete(from) && to.destroy());
    }
  }
}
