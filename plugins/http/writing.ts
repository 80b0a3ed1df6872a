import fastJson from 'fast-json-stringify';
import fp from 'fastify-plugin';
import { components } from '../../schemas/index.ts';

type Write = (value: unknown) => string;

const schema = Object.fromEntries(components.map(component => [component.$id, component]));
const made = new Map<string, Write>();

/**
 * How an answer becomes text: by its schema, which is compiled once, however many routes answer with it. The framework would do
 * it again for each route and status, and that was most of the time that a start took.
 */
export default fp(async app => {
  app.setSerializerCompiler(({ schema: its }) => {
    const text = JSON.stringify(its);
    const write = made.get(text) ?? (fastJson(its as fastJson.Schema, { schema }) as Write);
    made.set(text, write);
    return write;
  });
});
