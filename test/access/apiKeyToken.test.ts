import fc from 'fast-check';
import t from 'tap';
import { serviceName } from '#schemas/name.ts';
import { isWellFormed, makeToken } from '#src/access/credentials/apiKeyToken.ts';
import { newId } from '#src/core/ids.ts';
import { seed } from '#test/helper/values/random.ts';

t.test('a token has 256 random bits, and a typo in it is detected without a database', async t => {
  const id = newId(Date.now());
  const token = makeToken(id);
  t.match(token, new RegExp(`^${serviceName}_[0-9a-f]{32}_[0-9A-Za-z]{49}$`));
  t.not(makeToken(id), token);
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.constantFrom(...'0aZ_-'), (index, letter) => {
      const typed = token.slice(0, index) + letter + token.slice(index + 1);
      return isWellFormed(typed) === (typed === token);
    }),
    { seed, numRuns: 500 },
  );
  for (const text of ['', `${serviceName}_`, `${token}a`, token.slice(1), token.toUpperCase()])
    t.notOk(isWellFormed(text), text);
});
