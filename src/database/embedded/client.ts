import { setImmediate as turn } from 'node:timers/promises';
import { messages, PGlite, type PGliteOptions, type Transaction, types } from '@electric-sql/pglite';
import { type Connection, workInside } from '#src/database/connection.ts';
import { withSpans } from '#src/database/tracedConnection.ts';

type Message = Awaited<ReturnType<PGlite['execProtocolStream']>>[number];
type Options = Parameters<PGlite['execProtocol']>[1];

/** Starts Postgres inside the process. */
export async function openClient(options: PGliteOptions): Promise<PGlite> {
  const client = new EmbeddedClient(options);
  await client.waitReady;
  return client;
}

/**
 * PGlite 0.5.16 drops U+FEFF at the beginning of every text that it reads: its pg-protocol makes a TextDecoder without
 * `ignoreBOM`, so a payment of "\ufeffcus_1" activated "cus_1". Answers with a U+FEFF are read again here.
 */
class EmbeddedClient extends PGlite {
  override async execProtocolStream(message: Uint8Array, options: Options = {}): Promise<Message[]> {
    const { messages: read, data } = await this.execProtocol(message, { ...options, throwOnError: false });
    const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
    if (bytes.includes('\ufeff')) readAgain(read, bytes);
    const error = read.find(one => one instanceof messages.DatabaseError);
    if (error && options.throwOnError !== false) throw error;
    return read;
  }
}

/** Reads the rows of an answer again. A message is a letter, its length without the letter, and its content. */
function readAgain(read: Message[], bytes: Buffer): void {
  let start = 0;
  for (const message of read) {
    const end = start + 1 + bytes.readInt32BE(start + 1);
    const content = bytes.subarray(start + 5, end);
    if (message instanceof messages.DataRowMessage) readRow(message, content);
    start = end;
  }
}

/** A row is the number of its values, then for each value its length, which is -1 for null, and its text. */
function readRow({ fields }: messages.DataRowMessage, content: Buffer): void {
  let start = 2;
  for (const index of fields.keys()) {
    const length = content.readInt32BE(start);
    start += 4;
    if (length < 0) continue;
    fields[index] = content.toString('utf8', start, start + length);
    start += length;
  }
}

/** The adapter of this driver. */
export const embeddedConnection = (client: PGlite): Connection =>
  withSpans({
    isTransaction: false,
    rows: rowsBy(client),
    transaction: work => client.transaction(opened => workInside(rowsBy(opened), work)),
  });

const asText = (value: string) => value;
const { TIMESTAMPTZ, TIMESTAMP, DATE, BYTEA } = types;
/** Times and bytes stay the text that the server sends. */
const parsers = { [TIMESTAMPTZ]: asText, [TIMESTAMP]: asText, [DATE]: asText, [BYTEA]: asText };

const rowsBy =
  (client: Pick<Transaction, 'query' | 'exec'>): Connection['rows'] =>
  async (text, params) => {
    const options = { rowMode: 'array', parsers } as const;
    // A text without parameters may hold several statements, as a migration does.
    const results =
      params.length === 0 ? await client.exec(text, options) : [await client.query(text, params, options)];
    // PGlite never yields to the event loop: a worker with many events held up all requests and timers for 15 seconds.
    await turn();
    return (results.at(-1)?.rows ?? []) as unknown[][];
  };
