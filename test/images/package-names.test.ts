import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { catalog, verifiedReleases } from '../../packages/server/src/images/packages/catalog/catalog.ts';
import { namesIn } from '../../packages/server/src/images/packages/catalog/thing.ts';
import { DebianIndexes } from '../../packages/server/src/images/packages/debian-index/debian-indexes.ts';
import { machineSuites } from '../../packages/server/src/images/packages/debian-index/machine-suites.ts';
import type { PackageIndex } from '../../packages/server/src/images/packages/resolution.ts';

/** Kept between runs: the mirror is asked for its release files every six hours, for an index when it has changed. */
const indexes = new DebianIndexes({ folder: join(tmpdir(), 'caisson-test-package-index'), suitesOf: machineSuites });

describe.each(verifiedReleases.debian ?? [])('the catalog of Debian %s', (release) => {
  let index: PackageIndex | undefined;
  beforeAll(async () => {
    const opened = await indexes.of(release, 'amd64', AbortSignal.timeout(180_000));
    expect(opened.notice).toBeUndefined();
    index = opened.index;
  }, 200_000);

  const missing = (names: readonly string[] | undefined) =>
    (names ?? []).filter((name) => index?.versionsOf(name).length === 0);

  test('every name is in the index of the mirror', () => {
    expect(index?.versionsOf('git').length).toBeGreaterThan(0);
    const wrong = catalog.flatMap(({ id, names }) =>
      missing(namesIn(names.debian, release)).map((name) => `${id}: ${name}`),
    );
    expect(wrong).toEqual([]);
  });

  test('every version line is in the index of the mirror', () => {
    const wrong = catalog.flatMap(({ id, lines }) =>
      Object.entries(lines.debian ?? {}).flatMap(([line, name]) =>
        missing(namesIn(name, release)).map((native) => `${id} ${line}: ${native}`),
      ),
    );
    expect(wrong).toEqual([]);
  });
});
