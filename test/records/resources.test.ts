import t from 'tap';
import { testResource } from '../helper/resources/testResource.ts';
import { burrows } from '../world/burrows.ts';
import { specimens } from '../world/specimens.ts';
import { splinters } from '../world/splinters.ts';
import { tendings } from '../world/tendings.ts';
import { whispers } from '../world/whispers.ts';

for (const each of [burrows, specimens, splinters, tendings, whispers]) testResource(t, each);
