import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { buildVariant } from '../../build.mjs';
import { arbitrarySteps, describeTree } from '../../testing/random-tree.ts';

/** The modes that look at trees, with sanitizers, on trees that came about at random in real overlays. */
let program: string;
const isRoot = process.getuid?.() === 0;

beforeAll(() => {
  program = buildVariant('asan', { quiet: true });
}, 120_000);

/** Runs a script in a mount namespace of its own, in a folder that goes with it. */
function inScratch(script: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'caisson-tree-'));
  const prelude = `set -eu; cd ${folder}; mount -t tmpfs -o size=64m none .; cd ${folder}\n${describeTree}\n`;
  const env = { ...process.env, ASAN_OPTIONS: 'detect_leaks=0', LC_ALL: 'C.UTF-8', PROGRAM: program };
  try {
    const { stdout, stderr, status } = spawnSync('unshare', ['-m', 'bash', '-c', prelude + script], {
      env,
      maxBuffer: 64 * 1024 * 1024,
      timeout: 120_000,
    });
    if (status !== 0) throw new Error(`${status}: ${stderr}`);
    return stdout.toString();
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The removal of a file that is called like the mark of a removal: no layer has words for it, and packing refuses it. */
const cannotBeSaid = `grep -q 'looks like one' why && exit 0`;

const steps = (folder: string, text: string) => `( cd ${folder}\n${text}\n)\n`;
const overlay = (name: string) => `
mkdir ${name} ${name}.up ${name}.work
mount -t overlay -o lowerdir=lower,upperdir=${name}.up,workdir=${name}.work none ${name}
`;
const view = (name: string) => `
umount ${name}
mount -t overlay -o ro,lowerdir=${name}.up:lower none ${name}
`;

test.runIf(isRoot)(
  'what is packed and unpacked again is the same tree, and packs to the same bytes',
  () => {
    const property = fc.property(arbitrarySteps(12), arbitrarySteps(14), (before, after) => {
      const said = inScratch(`
mkdir lower; ${steps('lower', before)} ${overlay('a')} ${steps('a', after)} umount a
"$PROGRAM" pack a.up > one.tar 2> why || { code=$?; ${cannotBeSaid}; cat why >&2; exit $code; }
mkdir copy; "$PROGRAM" unpack copy --access-lists 1 < one.tar > answer || { cat answer >&2; exit 1; }
"$PROGRAM" pack copy > two.tar
cmp one.tar two.tar
describe a.up > one; describe copy > two
diff one two >&2
cat one`);
      return said !== undefined;
    });
    fc.assert(property, { numRuns: 30, endOnFailure: true });
  },
  180_000,
);

/** Each difference as one line: kinds, what, path. */
function records(text: string): string[] {
  return text
    .split('\0')
    .filter((record) => /^[-fdlo]{2} /.test(record))
    .map((record) => {
      const [kinds, what] = record.split(' ');
      return `${kinds} ${what} ${record.split(' ').slice(10).join(' ')}`;
    });
}

interface Node {
  readonly kind: string;
  readonly content: string;
  readonly attributes: string;
}

/** A tree by its description; without times and links, which are no difference. */
function nodes(text: string): Map<string, Node> {
  const kinds: Record<string, string> = { d: 'd', r: 'f', s: 'l' };
  return new Map(
    text
      .trim()
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [path = '', stat = '', content = '', ...rest] = line.split('|');
        const kind = kinds[stat[0] ?? ''] ?? 'o';
        const [mode, uid, gid] = stat.split(' ').slice(-4);
        const isFolder = kind === 'd';
        const attributes = [isFolder ? content : '', ...rest].filter((part) => /^(user|security)/.test(part));
        const own = kind === 'f' || kind === 'l' ? content : '';
        return [path, { kind, content: own, attributes: [mode, uid, gid, ...attributes].join(' ') }];
      }),
  );
}

function naive(before: Map<string, Node>, after: Map<string, Node>): string[] {
  const order = (path: string) => Buffer.from(path).toString('latin1').replaceAll('/', '\0');
  const paths = [...new Set([...before.keys(), ...after.keys()])].sort((a, b) => (order(a) < order(b) ? -1 : 1));
  return paths.flatMap((path) => {
    const [a, b] = [before.get(path), after.get(path)];
    if (a?.kind !== b?.kind) return [`${a?.kind ?? '-'}${b?.kind ?? '-'} - ${path}`];
    if (a?.content !== b?.content) return [`${a?.kind}${b?.kind} c ${path}`];
    return a?.attributes === b?.attributes ? [] : [`${a?.kind}${b?.kind} a ${path}`];
  });
}

test.runIf(isRoot)(
  'a diff says what a plain comparison says, by the changes or by the whole trees, in one piece or in many',
  () => {
    const many = fc.tuple(arbitrarySteps(14), arbitrarySteps(10), arbitrarySteps(10));
    const property = fc.property(many, ([base, first, second]) => {
      const said = inScratch(`
mkdir lower; ${steps('lower', base)}
${overlay('a')} ${overlay('b')} ${steps('a', first)} ${steps('b', second)} ${view('a')} ${view('b')}
"$PROGRAM" diff a b --changes a.up b.up; printf '###'
"$PROGRAM" diff a b; printf '###'
after=
while :; do
  "$PROGRAM" diff a b --changes a.up b.up --max-items 2 \${after:+--after "$after"} > page
  cat page
  after=$(tr '\\0' '\\n' < page | tail -n 1)
  case "$after" in '='*) break ;; *) after=\${after#> 0 } after=\${after//%/%25} ;; esac
done
printf '###'; "$PROGRAM" diff a b --changes a.up b.up --below a
printf '###'; describe a; printf '###'; describe b`);
      const [byChanges = '', whole = '', paged = '', below = '', before = '', after = ''] = said.split('###');
      const expected = naive(nodes(before), nodes(after));
      expect(records(whole)).toEqual(expected);
      expect(records(byChanges)).toEqual(expected);
      expect(records(paged)).toEqual(expected);
      expect(records(below)).toEqual(expected.filter(isBelow));
    });
    fc.assert(property, { numRuns: 30, endOnFailure: true });
  },
  180_000,
);

function isBelow(line: string): boolean {
  const path = line.split(' ').slice(2).join(' ');
  return path === 'a' || path.startsWith('a/');
}

test.runIf(isRoot)('a file of a tebibyte that holds nothing is refused at once, and compared at once', () => {
  const begin = performance.now();
  const said = inScratch(`
mkdir a b; truncate -s 1T a/x b/x; truncate -s 100 b/y
"$PROGRAM" pack a --max-bytes 1000000 > /dev/null 2> words && exit 1
cat words; "$PROGRAM" diff a b | tr '\\0' '\\n'`);
  expect(said).toBe('pack: x: the archive would be larger than it may be\n-f - 0 0 0 0 100 644 0 0 y\n= 0\n');
  expect(performance.now() - begin).toBeLessThan(30_000);
});

test.runIf(isRoot)('who made a tree and when is not in its bytes where that is not wanted', () => {
  const made = (name: string, time: string, owner: number) => `
mkdir -p ${name}/d; echo x > ${name}/d/f; chmod 750 ${name}/d/f; ln -s /etc ${name}/l; ln ${name}/d/f ${name}/h
setfattr -n user.a -v ${owner} ${name}/d/f
chown -hR ${owner}:${owner} ${name}; touch -hd ${time} ${name}/d/f ${name}/l ${name}/d ${name}
"$PROGRAM" pack ${name} --impersonal 946684800 > ${name}.tar
`;
  const said = inScratch(`
${made('one', '2001-01-01', 0)} ${made('two', '2024-05-05T12:00:00.5', 1000)}
cmp one.tar two.tar; TZ=UTC tar --numeric-owner -tvf two.tar`);
  expect(said.match(/^\S+ 0\/0 +\d+ 2000-01-01 00:00 /gm)).toHaveLength(5);
});

test.runIf(isRoot)('what no archive can tell is an error that names it', () => {
  const refuse = (make: string) =>
    inScratch(`mkdir a; ( cd a; ${make} )\n"$PROGRAM" pack a > /dev/null 2> words && exit 1; echo $?; cat words`);
  expect(refuse('mknod x c 1 3')).toBe('4\npack: x: it is a device\n');
  expect(refuse('mknod .wh.x c 0 0')).toBe('4\npack: .wh.x: a mark of removal of what looks like one\n');
  expect(refuse('mkdir x; setfattr -n trusted.overlay.redirect -v /y x')).toContain('keeps only the way back');
  expect(refuse('touch x; setfattr -n trusted.overlay.metacopy x')).toContain('keeps its content elsewhere');
});

test.runIf(isRoot)('a mount within a tree is not entered, and neither is a link', () => {
  const said = inScratch(`
mkdir -p a/m b/m other; echo secret > other/file; mount --bind other b/m; ln -s /etc b/etc
"$PROGRAM" diff a b | tr '\\0' '\\n'`);
  expect(said).toBe('-l - 0 0 0 0 4 777 0 0 etc\n= 0\n');
});
