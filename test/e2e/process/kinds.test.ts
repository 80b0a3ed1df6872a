// runs: long
import { rmSync } from 'node:fs';
import t from 'tap';
import { copyProject, succeeds, testsOfNewResources } from '#test/docs/handbook.ts';

t.test(
  'a new resource can be any kind: a join, a tree, of any field, of an owner alone; each passes its tests',
  async t => {
    const folder = copyProject();
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const tests = [...testsOfNewResources];
    for (const [plural, given] of Object.entries({
      lineItems:
        "lineItem --belongs-to 'author=user,editor=user?,parent=lineItem?' --fields 'title:string:unique,open:boolean,since:date?,budget:number,extra:json?,about:text?,amount:integer,mail:email:unique,copy:email?,price:cents,dueAt:time,status:draft|sent|paid'",
      memberships: 'membership --belongs-to user,lineItem',
      notes: 'note --belongs-to user --fields text:string --owner user --private',
      remarks: 'remark --belongs-to note,author=user --fields text:string --owner author',
    })) {
      await succeeds(t, `npm run new -- ${given}`, folder);
      tests.push(`test/domain/${plural}.test.ts`);
    }
    // The tests of the guides run `npm run check` on a project with a new resource, so it is not run here.
    await succeeds(t, `npm test -- postgres ${tests.join(' ')}`, folder);
  },
);
