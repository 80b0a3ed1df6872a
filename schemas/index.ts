import type { TSchema } from '@sinclair/typebox';
import * as apiKey from './apiKey.ts';
import * as audit from './audit.ts';
import * as error from './error.ts';
import * as event from './event.ts';
import * as graphql from './graphql.ts';
import * as lists from './lists.ts';
import * as post from './post.ts';
import * as service from './service.ts';
import * as subscription from './subscription.ts';
import * as user from './user.ts';

const files = [user, post, subscription, event, apiKey, audit, graphql, lists, error, service];

/** All schemas with an `$id`: the components of the OpenAPI document, in its order. */
export const components = files
  .flatMap(file => Object.values<unknown>(file))
  .filter((schema): schema is TSchema => typeof schema === 'object' && schema !== null && '$id' in schema);
