import t from 'tap';
import { testResource } from '../helper/resources/testResource.ts';
import { ofTests } from '../world/index.ts';

for (const each of ofTests) testResource(t, each);
