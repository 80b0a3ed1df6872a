import { parseEnv } from 'node:util';
import t from 'tap';
import { checkEnvFile } from '#src/config/envFile.ts';

const linesIn = (text: string) =>
  checkEnvFile(text).problems.map(problem => Number(/line (\d+)/.exec(problem)?.[1]));

t.test('a line that Node drops is a problem: `AUTH_MODE: required` left the service open', async t => {
  const text = 'PORT=4300\nAUTH_MODE: required\n';
  t.same(parseEnv(text), { PORT: '4300' }, 'what Node reads of it');
  const problems = ['.env, line 2, cannot be read: it must be NAME=value'];
  t.same(checkEnvFile(text), { names: ['PORT'], problems });
});

t.test('a name that is set twice is a problem: Node takes the last one', async t => {
  const text = 'AUTH_MODE=required\nPORT=1\n# AUTH_MODE=open\nexport AUTH_MODE=open\n';
  t.same(checkEnvFile(text), {
    names: ['AUTH_MODE', 'PORT'],
    problems: ['.env sets AUTH_MODE in line 1 and in line 4: keep one'],
  });
});

t.test('a bad line is reported by its number, without its value', async t => {
  for (const [text, ...wrong] of [
    ['# comment\n\nAUTH_MODE', 3],
    ['=hidden', 1],
    ['NA ME=hidden', 1],
    ['A=1\n- B=2\nC: 3', 2, 3],
    ['export\tA=1', 1],
    ['A=1\r\nB 2\r\n', 2],
    ['\uFEFFA=hidden', 1],
    ["A='1\n2'\nB 3", 3],
    // If the value of a name is blank, Node takes the next line as its value.
    ['LOG_LEVEL= \nAUTH_MODE=required', 2],
    ['A=1\rB=2', 2],
  ] as [string, ...number[]][]) {
    t.same(linesIn(text), wrong, JSON.stringify(text));
    t.notMatch(checkEnvFile(text).problems.join(), /hidden/);
  }
});

t.test('every line that Node reads correctly passes', async t => {
  for (const text of [
    '',
    '\n  # comment\n#A: 1\n',
    'A=1\n  B = 2 # comment\nexport C=3\nexport  D=4\nE=\nF=#\n',
    'A=1\r\nB=2\r\n',
    'A="one\nB: two\n\nthree"\nB=1',
    "A='one\ntwo' # comment\nB=`x\ny`\n",
    'A="x\nB=2',
    'A="x" y\nB=""\nC=it\'s\nD=a=b',
    'auth-mode=x\nA.B=1',
  ])
    t.same(linesIn(text), [], JSON.stringify(text));
});
