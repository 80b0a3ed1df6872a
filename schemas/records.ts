import { type Static, type TProperties, type TSchema, Type } from '@sinclair/typebox';
import { readOnly, strict } from './common.ts';

/** A record as clients read it. The schemas of a resource are made from one list of its members. */
export const recordOf = <T extends TProperties>($id: string, description: string, members: T) => {
  const { id, ...rest } = readOnly;
  return strict({ id, ...members, ...rest }, { $id, description });
};

/** The body that creates a record. */
export const creationOf = <T extends TProperties>(record: string, members: T) =>
  strict(members, { $id: `${record}Create`, description: `A new ${nounOf(record)}.` });

/** The body of a PUT. Members that are optional get their default. */
export const replacementOf = <T extends TProperties>(record: string, members: T) =>
  strict(
    { ...members, ...Type.Partial(Type.Object(readOnly)).properties },
    {
      $id: `${record}Replace`,
      description: `A complete ${nounOf(record)}. The response of a GET is accepted.`,
    },
  );

/** The body of a PATCH. It has no defaults: an absent member would be overwritten. */
export const updateOf = <T extends TProperties>(record: string, members: T) =>
  strict(Type.Partial(Type.Object({ ...members, ...readOnly })).properties, {
    $id: `${record}Update`,
    description: 'A merge patch (RFC 7396): members that are absent stay as they are.',
  });

/** A member that a body may leave out. */
export const orDefault = <T extends TSchema>(member: T, value: Static<T>, description: string) =>
  Type.Optional(Type.Unsafe<Static<T>>({ ...member, default: value, description }));

/** `BlogPost` is a blog post. */
const nounOf = (record: string) => record.replace(/(?!^)[A-Z]/g, letter => ` ${letter}`).toLowerCase();

/** The most records of one relation that are deleted with a parent: one transaction within a fraction of the request timeout. */
export const maxCascade = 10_000;

export const Removal = strict({
  cascade: Type.Boolean({
    default: false,
    description: `Also delete what belongs to the record, up to ${maxCascade.toLocaleString('en')} records of each relation. Without it, a record that others belong to may be a 409.`,
  }),
});
export type Removal = Static<typeof Removal>;
