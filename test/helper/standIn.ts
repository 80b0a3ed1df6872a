import fp from 'fastify-plugin';

/** A plugin that does nothing, in the place of one that the plugin under test must stand behind. */
export const standIn = (name: string) => fp(async () => {}, { name });
