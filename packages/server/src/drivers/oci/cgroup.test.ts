import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Cgroup, type CgroupLayout, cgroupLayout, cgroupOf } from './cgroup.ts';
import { readMachine } from './limits.ts';

const group = cgroupOf('sbx0mwhr15flw0l03zyt0i6.1');

/**
 * Files as kernels wrote them (6.1 for v2, 6.18 for v1) for a paused sandbox of crun that had one kill for want of memory, wrote
 * a file of 3 MB and met its limit of processes. Of the long files, the lines around what is read.
 */
const v1 = {
  'cpuset/cpuset.effective_cpus': '0-1\n',
  'memory/memory.memsw.limit_in_bytes': '9223372036854771712\n',
  [`cpuacct${group}/cpuacct.usage`]: '154049594\n',
  [`memory${group}/memory.usage_in_bytes`]: '14618624\n',
  [`memory${group}/memory.stat`]:
    'inactive_file 3006464\nactive_file 4096\nunevictable 0\ntotal_active_anon 253952\ntotal_inactive_file 3006464\ntotal_active_file 4096\n',
  [`memory${group}/memory.oom_control`]: 'oom_kill_disable 0\nunder_oom 0\noom_kill 1\n',
  [`pids${group}/pids.current`]: '62\n',
  [`pids${group}/pids.events`]: 'max 1\n',
  [`freezer${group}/freezer.state`]: 'FROZEN\n',
};
const v2 = {
  'cgroup.controllers': 'cpuset cpu io memory hugetlb pids rdma misc\n',
  'cpuset.cpus.effective': '0-1\n',
  'caisson/memory.swap.max': 'max\n',
  [`${group}/cgroup.events`]: 'populated 1\nfrozen 1\n',
  [`${group}/cpu.stat`]: 'usage_usec 11164285\nuser_usec 3615162\nsystem_usec 7549122\nnr_periods 147\n',
  [`${group}/memory.current`]: '15503360\n',
  [`${group}/memory.events`]: 'low 0\nhigh 0\nmax 31\noom 1\noom_kill 1\noom_group_kill 0\n',
  [`${group}/memory.stat`]: 'active_anon 253952\ninactive_file 3088384\nactive_file 12288\nunevictable 0\n',
  [`${group}/pids.current`]: '63\n',
  [`${group}/pids.events`]: 'max 1\n',
};
const recorded: Record<CgroupLayout, Readonly<Record<string, string>>> = {
  v1,
  hybrid: { ...v1, 'unified/cgroup.controllers': 'hugetlb\n', 'unified/cgroup.procs': '1\n' },
  v2,
};
const layouts = Object.keys(recorded) as CgroupLayout[];

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'caisson-cgroup-'));
});
afterEach(() => rmSync(root, { recursive: true }));

function lay(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

test.each(layouts)('%s is known for what it is, with its processors and whether it counts swap', (layout) => {
  expect(cgroupLayout(root)).toBeUndefined();
  lay(recorded[layout]);
  expect(cgroupLayout(root)).toBe(layout);
  expect(readMachine(layout, root)).toEqual({ cpus: [0, 1], countsSwap: true });
});

test.each(layouts)('what %s tells of a group is read', (layout) => {
  lay(recorded[layout]);
  const { cpuSeconds, memoryBytes, processes, oomKills, pidsRefused, isFrozen, isLeft } = new Cgroup(
    group,
    layout,
    root,
  );
  expect({ oomKills, pidsRefused, isFrozen, isLeft }).toEqual({
    oomKills: 1,
    pidsRefused: 1,
    isFrozen: true,
    isLeft: true,
  });
  expect({ cpuSeconds, memoryBytes, processes }).toEqual(
    layout === 'v2'
      ? { cpuSeconds: 11.164285, memoryBytes: 15_503_360 - 3_088_384, processes: 63 }
      : { cpuSeconds: 0.154049594, memoryBytes: 14_618_624 - 3_006_464, processes: 62 },
  );
});

test('who waits until a group of v2 stands still waits until it does, or gives up', async () => {
  lay(v2);
  const frozen = new Cgroup(group, 'v2', root);
  await frozen.freeze(new AbortController().signal);
  lay({ [`${group}/cgroup.events`]: 'populated 1\nfrozen 0\n' });
  await expect(frozen.freeze(AbortSignal.timeout(30))).rejects.toThrow(/timeout/);
  const waiting = frozen.freeze(new AbortController().signal);
  lay(v2);
  await waiting;
});

test('a group of v1 that comes to no end of freezing is asked again', async () => {
  lay({ ...v1, [`freezer${group}/freezer.state`]: 'FREEZING\n' });
  const freezing = new Cgroup(group, 'v1', root);
  await freezing.freeze(new AbortController().signal);
  expect(freezing.isFrozen).toBe(true);
});

test.each(layouts)('a group that %s does not have is empty, runs and is not left', (layout) => {
  lay(recorded[layout]);
  const { cpuSeconds, memoryBytes, processes, oomKills, isFrozen, isLeft } = new Cgroup('/other', layout, root);
  expect([cpuSeconds, memoryBytes, processes, oomKills, isFrozen, isLeft]).toEqual([0, 0, 0, 0, false, false]);
});

test.each(layouts)('an empty group is removed from every tree of %s', async (layout) => {
  lay(recorded[layout]);
  const trees = layout === 'v2' ? [''] : ['memory', 'pids', 'freezer'];
  for (const tree of trees) mkdirSync(join(root, tree, 'caisson', 'empty'));
  const empty = new Cgroup(cgroupOf('empty'), layout, root);
  expect(empty.isLeft).toBe(true);
  await empty.end();
  expect(empty.isLeft).toBe(false);
  expect(new Cgroup(group, layout, root).isLeft).toBe(true);
});
