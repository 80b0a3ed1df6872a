import t from 'tap';
import { posts } from '../../src/domain/posts.ts';
import { testResource } from '../helper/resources/testResource.ts';

testResource(t, posts);
