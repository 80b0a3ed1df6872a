import { ApiKey, ApiKeyCreate, ApiKeyList, NewApiKey } from './apiKey.ts';
import { AuditEntry, AuditList } from './audit.ts';
import { PageMeta } from './common.ts';
import { ErrorEnvelope, Violation } from './error.ts';
import { Post, PostCreate, PostList, PostReplace, PostUpdate } from './post.ts';
import { Home, Live, Ready } from './service.ts';
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
  ApiKey,
  ApiKeyCreate,
  NewApiKey,
  ApiKeyList,
  AuditEntry,
  AuditList,
  PageMeta,
  ErrorEnvelope,
  Violation,
  Home,
  Live,
  Ready,
];
