import t from 'tap';
import { posts } from '../../src/services/posts.ts';
import { testResource } from '../helper/testResource.ts';

testResource(t, posts);
