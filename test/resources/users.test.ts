import t from 'tap';
import { users } from '../../src/services/users.ts';
import { testResource } from '../helper/testResource.ts';

testResource(t, users);
