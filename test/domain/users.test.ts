import t from 'tap';
import { users } from '../../src/domain/users.ts';
import { testResource } from '../helper/resources/testResource.ts';

testResource(t, users);
