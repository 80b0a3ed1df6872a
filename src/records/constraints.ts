import { getTableColumns, getTableConfig, type PgColumn, type PgTable } from '#drizzle/orm.ts';
import { maxCascade } from '#schemas/parts/contract.ts';
import { conflict } from '#src/core/conflicts.ts';
import { toWords } from '#src/core/text.ts';

/**
 * The 409 of the unique index `<table>_<columns>_key`: `email_taken`, or `membership_exists` for members that are
 * unique together.
 */
export function uniqueRule(noun: string, table: PgTable, members: string[]) {
  const columns = members.map(member => getTableColumns(table)[member]?.name);
  const [path = ''] = members.slice(-1);
  const isAlone = members.length === 1;
  const taken = conflict(isAlone ? `${columns}_taken` : `${noun.replaceAll(' ', '_')}_exists`, {
    summary: `Another record has the same ${members.map(member => `\`${member}\``).join(' and ')}`,
    // The message names no resource, because all with the same member share the example in the OpenAPI document.
    message: () => `Another record with this ${members.map(toWords).join(' and ')} exists.`,
    example: { path: `/${path}` },
  });
  const { name: tableName, indexes } = getTableConfig(table);
  const key = `${tableName}_${columns.join('_')}_key`;
  // `writeRecord` recognizes the index by this name. Under any other name, a second record would be a 500.
  if (!indexes.some(({ config }) => config.name === key))
    throw new Error(`The table ${tableName} needs uniqueIndex('${key}').`);
  return { key, members, taken };
}

/** The foreign key `<table>_<column>_fkey` of the member with the id of a parent. */
export function foreignKeyName(table: PgTable, column: PgColumn): string {
  const { name: tableName, foreignKeys } = getTableConfig(table);
  const name = `${tableName}_${column.name}_fkey`;
  // `writeRecord` recognizes the key by this name. Under any other name, the id of no parent would be a 500.
  if (!foreignKeys.some(key => key.getName() === name))
    throw new Error(`The table ${tableName} needs foreignKey({ name: '${name}', … }).`);
  return name;
}

/** The 409s of a deletion of the parent. */
export function relationConflicts(
  parent: { noun: string },
  { nouns, plural, isPrivate }: { nouns: string; plural: string; isPrivate: boolean },
) {
  const code = nouns.replaceAll(' ', '_');
  // Callers who see only their own records do not learn how many children of a private resource there are.
  const optional = isPrivate ? [plural] : [];
  const hasChildren = conflict<Record<string, number>>(`${parent.noun.replaceAll(' ', '_')}_has_${code}`, {
    summary: `The ${parent.noun} has ${nouns}, and \`cascade\` is not true`,
    message: () => `The ${parent.noun} still has ${nouns}. Delete them first, or with \`?cascade=true\`.`,
    example: { [plural]: 3 },
    optional,
  });
  const tooMany = conflict<Record<string, number>>(`too_many_${code}`, {
    summary: `More than ${maxCascade.toLocaleString('en')} ${nouns} would be deleted too`,
    message: () => `More than ${maxCascade} ${nouns} would be deleted too. Delete some of them first.`,
    example: { [plural]: 12_345, maximum: maxCascade },
    optional,
  });
  return { hasChildren, tooMany };
}
