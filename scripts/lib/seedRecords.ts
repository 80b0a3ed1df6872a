// The users and posts of the seed, each generated from its number and short word lists.

const list = (text: string) => text.split(/,\s+/);
const firstNames = list(
  `Ada, Alan, Amara, Barbara, Björn, Carmen, Chen, Dennis, Edsger, Elif, Fatima, Grace, Hedy, Ibrahim, Ines,
  Jun, Karen, Kofi, Leila, Linus, Mária, Margaret, Mei, Niklaus, Noor, Olga, Priya, Radia, Sofia, Søren,
  Tariq, Tim, Wanjiru, Yuki, Zoë`,
);
const lastNames = list(
  `Allen, Bianchi, Cohen, Dijkstra, Eriksen, Fernández, Goldberg, Hamilton, Hopper, Ivanova, Johnson, Kaya,
  Knuth, Lamarr, Liskov, Lovelace, Mbeki, Nakamura, Okafor, Perlman, Quispe, Ritchie, Silva, Tanaka, Turing,
  Ueda, Varga, Wirth, Yilmaz, Zhang`,
);
const openings = list(
  `Notes on, A short history of, What I learned from, In praise of, The trouble with, A field guide to,
  Ten years of, Against, Rethinking, The art of`,
);
const topics = list(
  `the analytical engine, compilers, slow software, small teams, public libraries, night trains, sourdough,
  distributed clocks, city gardens, old maps, naming things, error messages, long walks, rooftop solar`,
);

/** A pseudo-random number from 0 up to 1 that depends only on the arguments: an integer hash. */
function chance(index: number, purpose: number): number {
  let bits = Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(purpose, 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
  bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
  return ((bits ^ (bits >>> 15)) >>> 0) / 2 ** 32;
}
const pick = (words: string[], index: number, purpose: number) =>
  words[Math.floor(chance(index, purpose) * words.length)] ?? '';

/** Id and times. Like the service's, ids ascend with the number and start with the time of creation. */
function identity(index: number, { start, every, kind }: { start: number; every: number; kind: string }) {
  const time = start + index * every + Math.floor(chance(index, 1) * every);
  const [hex, count] = [time.toString(16).padStart(12, '0'), index.toString(16).padStart(12, '0')];
  const createdAt = new Date(time).toISOString();
  return {
    id: `${hex.slice(0, 8)}-${hex.slice(8)}-7000-${kind}-${count}`,
    version: 1,
    createdAt,
    updatedAt: createdAt,
  };
}
const people = { start: Date.UTC(2025, 0, 1), every: 10_000, kind: '8001' };
const texts = { start: Date.UTC(2025, 6, 1), every: 5_000, kind: '8002' };

/** The user with this number. */
export function userOf(index: number) {
  const [first, last] = [pick(firstNames, index, 2), pick(lastNames, index, 3)];
  const plain = `${first}.${last}`.toLowerCase().replace('ø', 'o').normalize('NFD').replace(/\p{M}/gu, '');
  return {
    ...identity(index, people),
    name: `${first} ${last}`,
    email: `${plain}.${index + 1}@example.com`,
  };
}

/** The post with this number, by one of `users` authors. */
export function postOf(index: number, users: number) {
  // The cube gives a few authors many posts and most authors few.
  const author = Math.floor(chance(index, 4) ** 3 * users);
  return {
    ...identity(index, texts),
    title: `${pick(openings, index, 5)} ${pick(topics, index, 6)}`,
    status: chance(index, 7) < 0.25 ? 'draft' : 'published',
    authorId: identity(author, people).id,
  };
}
