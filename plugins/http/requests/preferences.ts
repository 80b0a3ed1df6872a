import type { FastifyRequest } from 'fastify';

const named = /(?:^|,)[\t ]*return[\t ]*=[\t ]*([\w-]+)[\t ]*(?:[,;]|$)/i;

/** What the client wants a write to return (RFC 7240). The first one counts; unknown ones are no preference. */
export function preferredReturn({ headers }: FastifyRequest): 'minimal' | 'representation' | undefined {
  const [, wanted] = named.exec(withoutQuotes(String(headers.prefer ?? ''))) ?? [];
  const known = wanted?.toLowerCase();
  return known === 'minimal' || known === 'representation' ? known : undefined;
}

/**
 * A quoted word is the same as the word. Other quoted text may look like a preference. A quote without an end takes the rest,
 * because a search for its end from each of thousands of them would take long.
 */
const withoutQuotes = (header: string) =>
  header.replace(/"((?:[^"\\]|\\.?)*)("?)/g, (_, text: string, end: string) =>
    end && /^[\w-]*$/.test(text) ? text : '',
  );
