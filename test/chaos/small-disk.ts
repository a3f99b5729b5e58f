import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A disk of a test's own that it can fill without harm to anybody else: a filesystem in a file. */
export class SmallDisk {
  /** An empty folder on it. */
  readonly folder: string;
  readonly #place = mkdtempSync(join(tmpdir(), 'caisson-disk-'));
  readonly #point = join(this.#place, 'disk');

  constructor(megabytes: number) {
    const file = join(this.#place, 'file');
    execFileSync('truncate', ['-s', `${megabytes}M`, file]);
    execFileSync('mkfs.ext4', ['-q', '-m', '0', file]);
    mkdirSync(this.#point);
    execFileSync('mount', ['-o', 'loop', file, this.#point]);
    this.folder = join(this.#point, 'data');
    mkdirSync(this.folder, { mode: 0o700 });
  }

  /** Takes all that is left but a few blocks. Others write meanwhile: what they took first is full as well. */
  fill(): void {
    const { bavail, bsize } = statfsSync(this.#point);
    const bytes = Math.max(0, bavail - 16) * bsize;
    if (bytes === 0) return;
    spawnSync('fallocate', ['-l', String(bytes), join(this.#point, 'full')], { stdio: 'ignore' });
    if (statfsSync(this.#point).bavail > bavail / 2) throw new Error('the disk could not be filled');
  }

  clear(): void {
    rmSync(join(this.#point, 'full'), { force: true });
  }

  close(): void {
    execFileSync('umount', ['--lazy', this.#point]);
    rmSync(this.#place, { recursive: true, force: true });
  }
}
