import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { directory, file, hardLink, symlink, type TarMember, tarOf } from './tar-writer.ts';

/** cap_net_raw+ep, as setcap writes it: a version and flags, then two sets. */
const capability = Buffer.from('0100000200200000000000000000000000000000', 'hex');
const longFolder = `deep/${'long-folder-name-'.repeat(6)}`;
const longName = `${longFolder}/${'long-file-name-'.repeat(6)}`;

/** Three layers with everything that layers have: the second removes and hides, the third comes back to it. */
export const sampleLayers: readonly (readonly TarMember[])[] = [
  [
    directory('etc'),
    file('etc/removed', 'lower\n'),
    file('etc/changed', 'lower\n', { mode: 0o600, owner: 1000 }),
    directory('hidden', { mode: 0o750 }),
    file('hidden/below', 'lower\n'),
    directory('gone'),
    file('gone/inside', 'lower\n'),
    directory('bin', { mtime: 1_500_000_000 }),
    file('bin/tool', 'tool\n', { mode: 0o4755 }),
    hardLink('bin/same', 'bin/tool'),
    symlink('bin/link', '../etc/changed'),
    symlink('bin/outside', '/etc/shadow'),
    file('bin/raw', 'raw\n', {
      mode: 0o755,
      pax: { 'SCHILY.xattr.security.capability': capability, mtime: '1600000000.25' },
    }),
    directory('deep'),
    directory('deep/short', { pax: { path: longFolder } }),
    file('short', 'long\n', { pax: { path: longName, 'SCHILY.xattr.user.note': 'kept' } }),
    { name: 'pipe', type: '6', mode: 0o640 },
    directory('tmp', { mode: 0o1777 }),
  ],
  [
    directory('etc'),
    file('etc/.wh.removed', ''),
    file('etc/changed', 'upper\n', { owner: 1000 }),
    directory('hidden', { mode: 0o750 }),
    file('hidden/.wh..wh..opq', ''),
    file('hidden/above', 'upper\n'),
    file('.wh.gone', ''),
  ],
  [directory('gone'), file('gone/new', 'third\n'), directory('etc'), file('etc/removed', 'back\n')],
];

/** Makes it with umoci as an OCI layout; gives the layout's folder. */
export function makeSampleImage(folder: string): string {
  const layout = join(folder, 'layout');
  const umoci = (...args: string[]) => execFileSync('umoci', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  umoci('init', '--layout', layout);
  umoci('new', '--image', `${layout}:sample`);
  sampleLayers.forEach((members, n) => {
    const tar = join(folder, `${n}.tar`);
    writeFileSync(tar, tarOf(members));
    umoci('raw', 'add-layer', '--image', `${layout}:sample`, tar);
  });
  umoci(
    ...['config', '--image', `${layout}:sample`, '--config.env', 'GREETING=hello=you', '--config.workingdir', '/etc'],
    ...['--config.user', '1000:1000'],
  );
  return layout;
}

/** The tree that another program makes of it, to hold ours against. */
export function unpackWithUmoci(layout: string, bundle: string): string {
  execFileSync('umoci', ['unpack', '--image', `${layout}:sample`, bundle], { stdio: ['ignore', 'ignore', 'pipe'] });
  return join(bundle, 'rootfs');
}

/** Every node of a tree in one line: kind, mode, owner, links, time, size, target, content, attributes. */
export function describeTree(folder: string): string[] {
  const format = '%P\\t%y\\t%m\\t%U:%G\\t%n\\t%T@\\t%l\\n';
  const nodes = execFileSync('find', [folder, '-mindepth', '1', '-printf', format], { encoding: 'utf8' });
  const sums = execFileSync('sh', ['-c', 'find . -type f -exec sha256sum {} +'], { cwd: folder, encoding: 'utf8' });
  const marks = execFileSync('getfattr', ['-R', '-d', '-m', '^(user|security)\\.', '-e', 'hex', '.'], {
    cwd: folder,
    encoding: 'utf8',
  });
  // A directory's number of links is the filesystem's own affair.
  const lines = nodes.split('\n').map((line) => line.replace(/\td\t(\S+)\t(\S+)\t\d+\t/, '\td\t$1\t$2\t-\t'));
  return [
    ...lines,
    ...sums.split('\n'),
    ...marks.split('\n').filter((line) => !line.startsWith('user.overlay.')),
  ].sort();
}
