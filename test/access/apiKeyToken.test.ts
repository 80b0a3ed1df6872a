import fc from 'fast-check';
import t from 'tap';
import { idOf, isWellFormed, makeToken, matches, tokenHashOf } from '../../src/access/apiKeyToken.ts';
import { newId } from '../../src/core/ids.ts';
import { seed } from '../helper/values/random.ts';

t.test('a token carries the id of its record and 256 random bits', async t => {
  const id = newId(Date.now());
  const [one, two] = [makeToken(id), makeToken(id)];
  t.match(one, /^triport_[0-9a-f]{32}_[0-9A-Za-z]{49}$/);
  t.equal(idOf(one), id);
  t.not(one, two);
  t.ok(isWellFormed(one));
});

t.test('a typo in a token is detected without a database', async t => {
  const token = makeToken(newId(Date.now()));
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.constantFrom(...'0aZ_-'), (index, letter) => {
      const typed = token.slice(0, index) + letter + token.slice(index + 1);
      return isWellFormed(typed) === (typed === token);
    }),
    { seed, numRuns: 500 },
  );
  for (const text of ['', 'triport_', `${token}a`, token.slice(1), token.toUpperCase()])
    t.notOk(isWellFormed(text), text);
});

t.test('only the token itself matches its hash', async t => {
  const id = newId(Date.now());
  const token = makeToken(id);
  const stored = Buffer.from(tokenHashOf(token), 'latin1');
  t.ok(matches(token, stored));
  t.notOk(matches(makeToken(id), stored));
  t.notOk(matches('', stored));
});
