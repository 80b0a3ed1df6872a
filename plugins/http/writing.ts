import fastJson from 'fast-json-stringify';
import fp from 'fastify-plugin';
import { components } from '../../schemas/index.ts';

type Serializer = (value: unknown) => string;

const schema = Object.fromEntries(components.map(component => [component.$id, component]));
const compiled = new Map<string, Serializer>();

/** Compiles each response schema once. Fastify compiles it for each route and status, which took most of the start. */
export default fp(async app => {
  app.setSerializerCompiler(({ schema: response }) => {
    const key = JSON.stringify(response);
    const serialize = compiled.get(key) ?? (fastJson(response as fastJson.Schema, { schema }) as Serializer);
    compiled.set(key, serialize);
    return serialize;
  });
});
