import type { TSchema } from '@sinclair/typebox';
import * as apiKey from './apiKey.ts';
import * as audit from './audit.ts';
import * as common from './common.ts';
import * as error from './error.ts';
import * as event from './event.ts';
import * as graphql from './graphql.ts';
import * as post from './post.ts';
import * as service from './service.ts';
import * as subscription from './subscription.ts';
import * as user from './user.ts';

/** The schemas that others refer to: all that have an `$id`. In the OpenAPI document they are the components. */
export const components = [
  // In the order of the document.
  user,
  post,
  subscription,
  event,
  apiKey,
  audit,
  graphql,
  common,
  error,
  service,
]
  .flatMap(file => Object.values<unknown>(file))
  .filter((schema): schema is TSchema => typeof schema === 'object' && schema !== null && '$id' in schema);
