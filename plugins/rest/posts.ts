import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { ref } from '../../schemas/common.ts';
import {
  Post,
  PostCreate,
  PostList,
  PostPath,
  PostQuery,
  PostReplace,
  PostUpdate,
} from '../../schemas/post.ts';
import { changePost, createPost, deletePost, getPost, listPosts } from '../../src/services/posts.ts';
import { deleted, sendCreated, sendPage } from './replies.ts';

const tags = ['Posts'];
const params = PostPath;

export const postRoutes: FastifyPluginAsyncTypebox = async app => {
  app.get(
    '/posts',
    {
      config: { scope: 'read' },
      schema: {
        tags,
        operationId: 'listPosts',
        summary: 'List posts',
        querystring: PostQuery,
        response: { 200: ref(PostList) },
      },
    },
    async (request, reply) => sendPage(request, reply, await listPosts(request.context, request.query)),
  );
  app.post(
    '/posts',
    {
      config: { scope: 'write' },
      schema: {
        tags,
        operationId: 'createPost',
        summary: 'Create a post',
        body: ref(PostCreate),
        response: { 201: ref(Post) },
      },
    },
    async (request, reply) => sendCreated(request, reply, await createPost(request.context, request.body)),
  );
  app.get(
    '/posts/:post_id',
    {
      config: { scope: 'read', errors: ['not_found'] },
      schema: { tags, operationId: 'getPost', summary: 'One post', params, response: { 200: ref(Post) } },
    },
    async request => getPost(request.context, request.params.post_id),
  );
  app.put(
    '/posts/:post_id',
    {
      config: { scope: 'write', errors: ['not_found', 'conflict'] },
      schema: {
        tags,
        operationId: 'replacePost',
        summary: 'Replace a post completely',
        params,
        body: ref(PostReplace),
        response: { 200: ref(Post) },
      },
    },
    async request => changePost(request.context, request.params.post_id, request.body),
  );
  app.patch(
    '/posts/:post_id',
    {
      config: { scope: 'write', errors: ['not_found', 'conflict'] },
      schema: {
        tags,
        operationId: 'updatePost',
        summary: 'Update a post partially',
        consumes: ['application/json', 'application/merge-patch+json'],
        params,
        body: ref(PostUpdate),
        response: { 200: ref(Post) },
      },
    },
    async request => changePost(request.context, request.params.post_id, request.body),
  );
  app.delete(
    '/posts/:post_id',
    {
      config: { scope: 'write', errors: ['not_found'] },
      schema: {
        tags,
        operationId: 'deletePost',
        summary: 'Delete a post',
        params,
        response: { 204: deleted },
      },
    },
    async (request, reply) => {
      await deletePost(request.context, request.params.post_id);
      return reply.code(204).send();
    },
  );
};
