import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { Post, PostCreate, PostList, PostQuery, PostReplace, PostUpdate } from '../../schemas/post.ts';
import { changePost, createPost, deletePost, listPosts, post } from '../../src/services/posts.ts';
import { sendCreated, sendDeleted, sendPage } from './replies.ts';
import { resourceRoutes } from './resource.ts';

export const postRoutes: FastifyPluginAsyncTypebox = async app => {
  const route = resourceRoutes(Post, post);
  app.get('/posts', route.list(PostQuery, PostList), async ({ context, query }, reply) =>
    sendPage(reply, await listPosts(context, query)),
  );
  app.post('/posts', route.create(PostCreate), async ({ context, body }, reply) =>
    sendCreated(reply, await createPost(context, body)),
  );
  app.get('/posts/:post_id', route.get(), async ({ context, params }) => post.get(context, params.post_id));
  app.put('/posts/:post_id', route.replace(PostReplace), async ({ context, params, body }) =>
    changePost(context, params.post_id, body),
  );
  app.patch('/posts/:post_id', route.update(PostUpdate), async ({ context, params, body }) =>
    changePost(context, params.post_id, body),
  );
  app.delete('/posts/:post_id', route.remove(), async ({ context, params, query }, reply) =>
    sendDeleted(reply, deletePost(context, params.post_id, query)),
  );
};
