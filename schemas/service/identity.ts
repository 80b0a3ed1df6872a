import type { Static } from '@sinclair/typebox';
import { storedTime, strict, text } from '#schemas/parts/common.ts';
import { logParameters, logSchema } from '#schemas/parts/lists.ts';

const members = {
  issuer: text(
    1,
    255,
    'Who issues the tokens: their `iss`, 1 to 255 characters.',
    'https://login.example.com/',
  ),
  subject: text(1, 255, 'The user there: the `sub` of the tokens, 1 to 255 characters.', 'auth0|64f1c0'),
};

export const Identity = strict(
  { ...members, createdAt: storedTime('When it was linked to the user.') },
  { $id: 'Identity', description: 'Tokens with this issuer and subject stand for the user.' },
);
export type Identity = Static<typeof Identity>;

export const IdentityName = strict(members, {
  $id: 'IdentityName',
  description: 'Which tokens stand for the user. Both are compared exactly.',
});
export type IdentityName = Static<typeof IdentityName>;

/** `IdentityName` as a query, which has no name of its own in the document. */
export const IdentityChoice = strict(members);
export const IdentityQuery = strict(logParameters);
export const IdentityList = logSchema(Identity, 'IdentityList');
