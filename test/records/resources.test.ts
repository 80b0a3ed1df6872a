// runs: also on embedded
import t from 'tap';
import { testResource } from '#test/helper/resources/testResource.ts';
import { ofTests } from '#test/world/index.ts';

for (const each of ofTests) testResource(t, each);
