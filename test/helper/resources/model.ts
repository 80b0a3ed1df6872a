import { any, below } from '#test/helper/values/random.ts';

type Members = Record<string, string | number | null>;
interface Modelled {
  kind: string;
  members: Members;
  version: number;
  /** How many entries the audit log has about it. */
  entries: number;
}
/** An operation of a batch. */
export interface Operation {
  method: string;
  path: string;
  body?: object;
  ifMatch?: string;
}
/** What an operation does, or why it is refused: a status with the code of the error or the member that is wrong. */
type Outcome = { status: number; id?: string } | { status: number; refusal: string };

interface Kind {
  /** The parents, by the members with their ids. Some may be null. */
  parents: Record<string, string>;
  optional?: true;
  unique?: { members: string[]; code: string };
  /** Whether its records are deleted with a parent even without `cascade`. */
  follows?: true;
  draw: () => Members;
}
const word = () => any(['a', 'b', 'c']);
const kinds: Record<string, Kind> = {
  users: {
    parents: {},
    unique: { members: ['email'], code: 'email_taken' },
    draw: () => ({ name: word(), email: `${any(['a', 'B', 'c', 'd', 'e', 'f', 'g', 'h'])}@model.example` }),
  },
  burrows: { parents: { parentId: 'burrows' }, optional: true, draw: () => ({ label: word() }) },
  specimens: { parents: { burrowId: 'burrows' }, draw: () => ({ label: word(), bones: below(3) }) },
  splinters: { parents: { specimenId: 'specimens' }, follows: true, draw: () => ({ length: below(3) }) },
  tendings: {
    parents: { burrowId: 'burrows', userId: 'users' },
    unique: { members: ['burrowId', 'userId'], code: 'tending_exists' },
    draw: () => ({}),
  },
};
export const kindNames = Object.keys(kinds);
const kindOf = (name: string) => kinds[name] as Kind;
const singular = (kind: string) => kind.slice(0, -1);

/** What a database with records of test/world must hold after writes, without any locks or constraints. */
export class Model {
  readonly records: Map<string, Modelled>;
  /** How many entries the audit log has about records that were deleted. */
  readonly gone: Map<string, number>;

  constructor(records = new Map<string, Modelled>(), gone = new Map<string, number>()) {
    [this.records, this.gone] = [records, gone];
  }

  copy = () => new Model(structuredClone(this.records), new Map(this.gone));

  idsOf = (kind: string) => [...this.records].flatMap(([id, each]) => (each.kind === kind ? id : []));

  /** Draws an operation that may be refused. Parents may be references to earlier operations, such as `$0`. */
  draw(n: number): Operation {
    const kind = any(kindNames);
    const path = `/api/${kind}`;
    const members = () => ({ ...kindOf(kind).draw(), ...this.#drawParents(kind, n) });
    const id = any(this.idsOf(kind).filter(id => !id.startsWith('$')));
    if (id === undefined || below(2) === 0) return { method: 'POST', path, body: members() };
    const one = `${path}/${below(15) > 0 ? id : any(['$0', absentId])}`;
    const version = this.records.get(id)?.version ?? 0;
    const current = { ifMatch: `"${version}"` };
    const ifMatch = any([{}, {}, {}, {}, current, { ifMatch: `"${version - below(2)}"` }]);
    const method = any(['PUT', 'PATCH', 'PATCH', 'DELETE']);
    if (method === 'DELETE') return { method, path: `${one}${any(['', '?cascade=true'])}`, ...ifMatch };
    const stale = below(10) > 0 ? {} : { version: version + below(2) };
    const some = Object.entries(members()).filter(() => method === 'PUT' || below(2) === 0);
    return { method, path: one, body: { ...Object.fromEntries(some), ...stale }, ...ifMatch };
  }

  #drawParents(kind: string, n: number): Members {
    const { parents, optional } = kindOf(kind);
    const draw = (parent: string) => {
      if (optional && below(2) === 0) return null;
      const wrong = n > 0 && below(12) === 0 ? `$${below(n)}` : undefined;
      const known = this.idsOf(parent);
      const created = known.filter(id => id.startsWith('$'));
      return wrong ?? any(created.length > 0 && below(2) ? created : known) ?? absentId;
    };
    return Object.fromEntries(Object.entries(parents).map(([member, parent]) => [member, draw(parent)]));
  }

  /** Does the operation with this number, or returns why it is refused. */
  apply({ method, path, body = {}, ifMatch }: Operation, n: number): Outcome {
    const [, , kind = '', rest] = path.split('/');
    const [id = '', query] = rest?.split('?') ?? [];
    if (method === 'POST') {
      const defaults = kind === 'burrows' ? { parentId: null } : {};
      const created = { kind, members: { ...defaults, ...(body as Members) }, version: 1, entries: 1 };
      const refusal = this.#refusalOf(`$${n}`, created);
      if (!refusal) this.records.set(`$${n}`, created);
      return refusal ?? { status: 201, id: `$${n}` };
    }
    const stored = this.records.get(id);
    if (!stored || id.startsWith('$')) return { status: 404, refusal: 'not_found' };
    if (ifMatch !== undefined && ifMatch !== `"${stored.version}"`)
      return { status: 412, refusal: 'version_mismatch' };
    if (method === 'DELETE') return this.#remove(id, query === 'cascade=true');
    const { version = stored.version, ...sent } = body as Members;
    if (version !== stored.version) return { status: 409, refusal: 'stale' };
    const optional = kind === 'specimens' ? { bones: 0 } : kind === 'burrows' ? { parentId: null } : {};
    const members = { ...stored.members, ...(method === 'PUT' && optional), ...sent };
    if (JSON.stringify(members) === JSON.stringify({ ...stored.members })) return { status: 200, id };
    const changed = { ...stored, members, version: stored.version + 1, entries: stored.entries + 1 };
    const refusal = this.#refusalOf(id, changed);
    if (!refusal) this.records.set(id, changed);
    return refusal ?? { status: 200, id };
  }

  #refusalOf(id: string, { kind, members }: Modelled): Outcome | undefined {
    const { parents, unique } = kindOf(kind);
    const keyOf = (each: Members) => unique?.members.map(name => String(each[name]).toLowerCase()).join();
    for (const [other, each] of this.records)
      if (unique && other !== id && each.kind === kind && keyOf(each.members) === keyOf(members))
        return { status: 409, refusal: unique.code };
    for (const [member, parent] of Object.entries(parents)) {
      const value = members[member];
      const isKnown = value === id || this.records.get(String(value))?.kind === parent;
      if (value !== null && !isKnown) return { status: 400, refusal: `/${member}` };
    }
    return undefined;
  }

  #remove(id: string, cascade: boolean): Outcome {
    const removed = new Set([id]);
    // The set grows while it is read.
    for (const parent of removed)
      for (const [child, { kind, members }] of this.records) {
        if (!Object.keys(kindOf(kind).parents).some(member => members[member] === parent)) continue;
        const above = this.records.get(parent)?.kind ?? '';
        if (!cascade && !kindOf(kind).follows)
          return { status: 409, refusal: `${singular(above)}_has_${kind}` };
        removed.add(child);
      }
    for (const each of removed) {
      this.gone.set(each, (this.records.get(each)?.entries ?? 0) + 1);
      this.records.delete(each);
    }
    return { status: 204 };
  }

  /** Puts the ids that the service has chosen in the place of the references to new records. */
  rename(ids: Map<string, string>): void {
    const renamed = <V>(value: V) => (ids.get(String(value)) as V | undefined) ?? value;
    for (const [id, record] of [...this.records]) {
      const { parents } = kindOf(record.kind);
      for (const member of Object.keys(parents))
        record.members[member] = renamed(record.members[member] ?? null);
      this.records.delete(id);
      this.records.set(renamed(id), record);
    }
    for (const [id, entries] of [...this.gone]) {
      this.gone.delete(id);
      this.gone.set(renamed(id), entries);
    }
  }
}

const absentId = '019aa5d0-7c2e-7d4f-9b1a-3f6c2f1e8a90';
