import { and, eq } from '#drizzle/orm.ts';
import { identities } from '#drizzle/tables/service/identities.ts';
import type { IdentityName } from '#schemas/service/identity.ts';
import { type Connection, orm } from '#src/database/connection.ts';

/** The id of the user whom tokens of this issuer and subject stand for, or null. */
export async function readPerson(db: Connection, { issuer, subject }: IdentityName): Promise<string | null> {
  const isNamed = and(eq(identities.issuer, issuer), eq(identities.subject, subject));
  const [row] = await orm(db).select({ userId: identities.userId }).from(identities).where(isNamed);
  return row?.userId ?? null;
}
