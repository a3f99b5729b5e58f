import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** What an image may have where a runtime and the guest expect something else. */
export const hostileImages: Readonly<Record<string, (layer: string) => void>> = {
  'its /dev/null is a link': (layer) => symlinkSync('/proc/sys/kernel/core_pattern', join(layer, 'dev', 'null')),
  'its /dev is a link to a folder of the host': (layer) => replace(layer, 'dev', '/etc'),
  'its /dev is a link to /proc': (layer) => replace(layer, 'dev', '/proc'),
  'its /proc is a link': (layer) => replace(layer, 'proc', '/tmp'),
  'its /sys is a link': (layer) => replace(layer, 'sys', '/tmp'),
  'its /proc climbs': (layer) => replace(layer, 'proc', '../../../../../../proc'),
  'its /dev is a file': (layer) => {
    rmSync(join(layer, 'dev'), { recursive: true });
    writeFileSync(join(layer, 'dev'), '');
  },
  'its /etc/passwd is a link to that of the host': (layer) => {
    replace(join(layer, 'etc'), 'passwd', '/../../../../../etc/passwd');
    replace(join(layer, 'etc'), 'group', '/proc/1/root/etc/group');
  },
  'its /etc/passwd and /etc/group are pipes': (layer) => {
    for (const name of ['passwd', 'group']) {
      rmSync(join(layer, 'etc', name));
      execFileSync('mkfifo', [join(layer, 'etc', name)]);
    }
  },
  'its /etc/passwd leads in a circle': (layer) => replace(join(layer, 'etc'), 'passwd', 'passwd'),
  'its /etc/passwd leads through many links to a pipe': (layer) => {
    replace(layer, 'hop', '/tmp/../tmp');
    replace(join(layer, 'etc'), 'passwd', '../hop/./pipe');
    execFileSync('mkfifo', [join(layer, 'tmp', 'pipe')]);
  },
  "its /etc/passwd is what the guest's secret comes through": (layer) =>
    replace(join(layer, 'etc'), 'passwd', '/proc/self/fd/0'),
  'its /etc/passwd is endless': (layer) => replace(join(layer, 'etc'), 'passwd', '/dev/zero'),
  'its /home is a link into /proc': (layer) => replace(layer, 'home', '/proc/1/root'),
  'its root has no permissions': (layer) => chmodSync(layer, 0o000),
  'it has a folder in the place of the guest': (layer) =>
    mkdirSync(join(layer, 'dev', '.caisson', 'guest'), { recursive: true }),
};

/** A link in the place of whatever there is. */
export function replace(folder: string, name: string, target: string): void {
  rmSync(join(folder, name), { recursive: true, force: true });
  symlinkSync(target, join(folder, name));
}

/** What of the host such an image could be after. */
export function hostState(): string[] {
  return ['/etc/passwd', '/etc/group', '/proc/sys/kernel/core_pattern'].map((path) => readFileSync(path, 'utf8'));
}
