import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { TSchema } from '@sinclair/typebox';
import { serializerFor } from '#plugins/http/requests/parsing.ts';
import { routesOf } from '#plugins/http/routes.ts';
import { clientShouldReturn, retryIn, sendEvents } from '#plugins/http/streams.ts';
import { ref } from '#schemas/parts/common.ts';
import { changesHeaders, changesQuery } from '#schemas/service/change.ts';
import type { Feed } from '#src/changes/feed.ts';
import { type Choice, follow, type News } from '#src/changes/follow.ts';
import type { Followed } from '#src/changes/followed.ts';
import type { Change } from '#src/changes/pages.ts';
import type { SentPosition } from '#src/changes/position.ts';
import { invalid } from '#src/core/errors.ts';
import { keptIn } from '#src/core/kept.ts';

/** Characters that are sent at once. With more, a slow client would look as if it had stopped reading. */
const chunk = 16_384;

const route = routesOf('Changes');
const describe = (
  example: string,
) => `Server-sent events: one for each committed change of a record, in the order of the commits, or of writing when they came at once. \`event\` is its name, such as \`${example}.change\`, \`data\` a \`Change\`, and \`id\` the position after it.

The stream begins with an \`id\` without data, and repeats it every 15 seconds. A client that sends the last \`id\` as \`Last-Event-ID\`, or as \`after\`, gets every change since then once, from any instance. Apply a record by its own \`version\`, which may be newer than that of the event.`;

interface Options {
  feed: Feed;
  change: TSchema;
  /** The resource that the description names. */
  example: string;
}

/** The stream of changes. */
export const changeRoutes: FastifyPluginAsyncTypebox<Options> = async (app, { feed, change, example }) => {
  const { followed } = feed;
  const eventTexts = textsOfNews(followed);
  app.get(
    '/changes',
    route('followChanges', 'Follow the changes', 'read or own', {
      description: describe(example),
      querystring: changesQuery(followed),
      headers: changesHeaders,
      response: {
        200: {
          description: 'The stream. It ends with the right of the caller and with the service.',
          content: { 'text/event-stream': { schema: ref(change) } },
        },
      },
    }),
    async (request, reply) => {
      const { after, ...filters } = request.query as Record<string, string>;
      const last = request.headers['last-event-id'];
      // A browser that reconnects repeats the old `after` of its URL, so the header counts.
      const sent: SentPosition =
        last === undefined
          ? { in: 'query', path: '/after', text: after }
          : { in: 'header', path: '/last-event-id', text: last };
      const choice = readChoice(followed, filters);
      const stream = request.openStream();
      async function* events() {
        let text = retryIn(1000);
        for await (const news of follow(feed, stream, choice, sent)) {
          for (const each of eventTexts(news)) {
            text += each;
            if (text.length < chunk) continue;
            yield text;
            text = '';
          }
          if (text) yield text;
          text = '';
        }
        if (stream.signal.reason === clientShouldReturn) yield `${retryIn(1000, 5000)}\n`;
      }
      return sendEvents(reply, stream, events());
    },
  );
};

function readChoice(followed: Followed[], { resource, id, ...filters }: Record<string, string>): Choice {
  const names = Object.keys(filters);
  const resources = followed.filter(
    ({ name, parents }) =>
      (resource ?? name) === name && names.every(filter => Object.hasOwn(parents, filter)),
  );
  if (resources.length === 0) {
    const message = resource ? `does not fit the resource "${resource}"` : 'does not fit the other filters';
    throw invalid([{ in: 'query', path: `/${names.at(-1)}`, message }]);
  }
  return { resources, id, filters };
}

/** Makes the text of each change once for all who get it. */
function textsOfNews(followed: Followed[]): (news: News) => string[] {
  const texts = new WeakMap<Change, string>();
  const serializers = new Map(
    followed.map(({ name, contract }) => [name, serializerFor(ref(contract.record))]),
  );
  const eventText = ({ resource, id, action, version, changed, at, record, position }: Change) => {
    const head = JSON.stringify({ resource, id, action, version, changed, at }).slice(0, -1);
    const json = record ? serializers.get(resource)?.(record).trimEnd() : 'null';
    return `event: ${resource}.${action}\nid: ${position}\ndata: ${head},"record":${json}}\n\n`;
  };
  return ({ changes, position }) =>
    changes.length > 0
      ? changes.map(change => keptIn(texts, change, () => eventText(change)))
      : [`:\nid: ${position}\n\n`];
}
