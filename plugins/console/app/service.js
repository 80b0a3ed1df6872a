import { call } from './api.js';

/** What the service says of itself and of its lists to this caller, and how many records they have by their paths. */
export const service = {
  name: '',
  version: '',
  database: '',
  caller: { name: '', kind: '', scopes: [], person: null },
  lists: [],
  counts: {},
};

export async function readDocument() {
  Object.assign(service, await call('GET', '/console/document'));
}
/** Counts the records, as the first page of the service does. */
export async function readCounts() {
  const { counts = {}, links } = await call('GET', '/');
  const byPath = Object.entries(counts).map(([name, number]) => [links[name].replace('/api/', ''), number]);
  service.counts = Object.fromEntries(byPath);
}

export const listAt = path => service.lists.find(list => list.path === path);
export const listNamed = name => service.lists.find(list => list.name === name);
export const isAdmin = () => service.caller.scopes.includes('admin');

/** Whether the caller may write this record, or some record of the list. */
export function isTheirs({ owner }, record = undefined) {
  const { scopes, person } = service.caller;
  return scopes.includes('write') || (owner !== null && (!record || record[owner] === person));
}

const names = new Map();
/** The names of records by their ids, as far as they are known; the others are read in one request. */
export async function readNames(path, ids) {
  const known = names.get(path) ?? new Map();
  names.set(path, known);
  const unknown = [...new Set(ids)].filter(id => id && !known.has(id));
  if (unknown.length === 0) return known;
  const query = { ids: unknown.join() };
  const found = await call('GET', `/console/names/${path}`, { query }).catch(() => undefined);
  const all = unknown.map(id => [id, found?.[id] ?? id.slice(-8)]);
  // What could not be read is asked again.
  if (!found) return new Map([...known, ...all]);
  for (const [id, name] of all) known.set(id, name);
  return known;
}
/** Forgets the names of a list that has changed, or all of them when another caller reads. */
export function forgetNames(path = undefined) {
  if (path === undefined) names.clear();
  else names.delete(path);
}
/** What stands for a record; the first characters of an id are a time, which neighbours share. */
export const titleIn = ({ title }, record) => (title && record[title]) || String(record.id).slice(-8);
