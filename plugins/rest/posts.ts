import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { idInPath, ref, strict } from '../../schemas/common.ts';
import { Post, PostCreate, PostList, PostQuery, PostReplace, PostUpdate } from '../../schemas/post.ts';
import { changePost, createPost, deletePost, getPost, listPosts } from '../../src/services/posts.ts';
import { routesOf } from '../http/routes.ts';
import { deleted, mergePatch, sendCreated, sendDeleted, sendPage } from './replies.ts';

const route = routesOf('Posts');
const params = strict({ post_id: idInPath('post') });
const one = { params, response: { 200: ref(Post) } };
const changed = { ...one, config: { conflicts: ['stale'] } } as const;

export const postRoutes: FastifyPluginAsyncTypebox = async app => {
  app.get(
    '/posts',
    route('listPosts', 'List posts', 'read', { querystring: PostQuery, response: { 200: ref(PostList) } }),
    async (request, reply) => sendPage(request, reply, await listPosts(request.context, request.query)),
  );
  app.post(
    '/posts',
    route('createPost', 'Create a post', 'write', { body: ref(PostCreate), response: { 201: ref(Post) } }),
    async (request, reply) => sendCreated(request, reply, await createPost(request.context, request.body)),
  );
  app.get('/posts/:post_id', route('getPost', 'Get a post', 'read', one), async request =>
    getPost(request.context, request.params.post_id),
  );
  app.put(
    '/posts/:post_id',
    route('replacePost', 'Replace a post completely', 'write', { ...changed, body: ref(PostReplace) }),
    async request => changePost(request.context, request.params.post_id, request.body),
  );
  app.patch(
    '/posts/:post_id',
    route('updatePost', 'Update a post partially', 'write', {
      ...changed,
      consumes: mergePatch,
      body: ref(PostUpdate),
    }),
    async request => changePost(request.context, request.params.post_id, request.body),
  );
  app.delete(
    '/posts/:post_id',
    route('deletePost', 'Delete a post', 'write', { params, response: { 204: deleted } }),
    (request, reply) => sendDeleted(reply, deletePost(request.context, request.params.post_id)),
  );
};
