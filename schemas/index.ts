import { PageMeta } from './common.ts';
import { ErrorEnvelope, Violation } from './error.ts';
import {
  ProviderEvent,
  Replayed,
  ReplayFilter,
  WebhookEvent,
  WebhookEventDetail,
  WebhookEventList,
} from './event.ts';
import { Post, PostCreate, PostList, PostReplace, PostUpdate } from './post.ts';
import { Home, Live, Ready } from './service.ts';
import { Subscription, SubscriptionList } from './subscription.ts';
import { User, UserCreate, UserList, UserReplace, UserUpdate } from './user.ts';

/** The schemas that others refer to by `$id`. In the OpenAPI document they are the components. */
export const components = [
  User,
  UserCreate,
  UserReplace,
  UserUpdate,
  UserList,
  Post,
  PostCreate,
  PostReplace,
  PostUpdate,
  PostList,
  Subscription,
  SubscriptionList,
  WebhookEvent,
  WebhookEventDetail,
  WebhookEventList,
  ReplayFilter,
  Replayed,
  ProviderEvent,
  PageMeta,
  ErrorEnvelope,
  Violation,
  Home,
  Live,
  Ready,
];
