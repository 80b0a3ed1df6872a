import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Post, PostCreate, PostList, PostQuery, PostReplace, PostUpdate } from '../../schemas/post.ts';
import { changePost, createPost, deletePost, listPosts, post } from '../../src/services/posts.ts';
import { sendChanged, sendCreated, sendDeleted, sendPage, sendRecord } from './replies.ts';
import { resourceRoutes } from './resource.ts';

export const postRoutes: FastifyPluginAsyncTypebox = async app => {
  const route = resourceRoutes(Post, post);
  app.get('/posts', route.list(PostQuery, PostList), async ({ context, query }, reply) =>
    sendPage(reply, await listPosts(context, query)),
  );
  app.post('/posts', route.create(PostCreate), async ({ body }, reply) =>
    sendCreated(reply, context => createPost(context, body)),
  );
  app.get('/posts/:post_id', route.get(), async ({ context, params }, reply) =>
    sendRecord(reply, await post.get(context, params.post_id)),
  );
  app.put(
    '/posts/:post_id',
    route.replace(PostReplace),
    async ({ context, params, body, condition }, reply) =>
      sendChanged(reply, await changePost(context, params.post_id, body, condition)),
  );
  app.patch(
    '/posts/:post_id',
    route.update(PostUpdate),
    async ({ context, params, body, condition }, reply) =>
      sendChanged(reply, await changePost(context, params.post_id, body, condition)),
  );
  app.delete('/posts/:post_id', route.remove(), async ({ context, params, query, condition }, reply) =>
    sendDeleted(reply, deletePost(context, params.post_id, query, condition)),
  );
};
