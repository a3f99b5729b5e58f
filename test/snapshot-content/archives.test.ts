import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Snapshot } from '@caisson/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isRoot } from '../images/images-folder.ts';
import { sha256 } from '../images/layout-writer.ts';
import { file, tarOf } from '../images/tar-writer.ts';
import { ada, ContentWorld, eve, never, shell } from './content-world.ts';

/** As `setfacl -m u:1000:r` writes it: a version, then owner, that user, group, mask and others. */
const accessList = '0x0200000001000600ffffffff02000400e803000004000400ffffffff10000400ffffffff20000400ffffffff';

/** Everything that an agent may leave behind, over the sample image. */
const work = `
mkdir -p workspace/src && echo code > workspace/src/main.c && ln workspace/src/main.c workspace/same && ln -s ../etc workspace/link
chmod 4711 workspace/src/main.c; chown -R 1000:70000 workspace/src; mkfifo workspace/pipe
rm etc/changed; rm -rf deep && mkdir deep && echo new > deep/file; echo more >> bin/tool
setfattr -n user.note -v kept workspace/src/main.c; touch -d @1600000000.5 workspace/src/main.c
echo odd > 'workspace/.wh.odd'; touch "workspace/$(printf 'latin\\351')"; truncate -s 1M workspace/hole; chmod 700 .
touch workspace/listed; setfattr -n system.posix_acl_access -v ${accessList} workspace/listed`;

describe.runIf(isRoot)('archives of snapshots', () => {
  let here: ContentWorld;
  let snapshot: Snapshot;
  beforeAll(async () => {
    here = await ContentWorld.open('overlay');
    const sandbox = await here.sandbox();
    shell(work, sandbox.path);
    snapshot = await here.snapshot(sandbox, 'first');
  }, 120_000);
  afterAll(() => here.close());

  test.each(['overlay', 'btrfs'] as const)(
    'one of an overlay is the same tree on a server with %s, and exports to the same bytes',
    async (kind) => {
      const there = await ContentWorld.open(kind);
      try {
        const bytes = await here.exported(snapshot.id);
        const copy = await there.imported(bytes);
        expect(copy).toMatchObject({ kind: 'named', name: 'first', labels: { from: 'here' }, owner: ada.owner });
        expect(copy.sandbox).not.toBe(snapshot.sandbox);
        expect(await there.describe(copy.id)).toContain(accessList);
        expect(await there.describe(copy.id)).toBe(await here.describe(snapshot.id));
        const layers = (all: Buffer) =>
          [...all.toString('latin1').matchAll(/blobs\/sha256\/[0-9a-f]{64}/g)].slice(2).map(String);
        expect(layers(await there.exported(copy.id))).toEqual(layers(bytes));
        const inputs = await there.store.snapshots.inputs(copy.id);
        expect(inputs).toMatchObject({ driver: kind, image: { env: { PATH: '/bin' } }, profile: null });
        expect(readdirSync(join(there.folder, 'images', 'making'))).toEqual([]);
        const clone = await there.storage.clone(copy.id, { sandbox: copy.sandbox }, never);
        expect(shell('cat workspace/same', clone.path)).toBe('code\n');
      } finally {
        await there.close();
      }
    },
    60_000,
  );

  test('its layers are those of the image where that is here, and are not kept twice', async () => {
    const before = readdirSync(join(here.folder, 'images', 'layers'));
    const copy = await here.imported(await here.exported(snapshot.id), { name: 'again' });
    expect(copy.name).toBe('again');
    expect(readdirSync(join(here.folder, 'images', 'layers'))).toEqual(before);
    expect(await here.describe(copy.id)).toBe(await here.describe(snapshot.id));
  });

  test('a thin one brings the changes alone, and needs a server that has the rest', async () => {
    const [whole, thin] = [await here.exported(snapshot.id), await here.exported(snapshot.id, true)];
    expect(thin.length).toBeLessThan(whole.length);
    const copy = await here.imported(thin);
    expect(await here.describe(copy.id)).toBe(await here.describe(snapshot.id));
    const there = await ContentWorld.open('overlay');
    try {
      await expect(there.imported(thin)).rejects.toMatchObject({ code: 'image_not_found' });
      await there.imported(whole);
      expect((await there.imported(thin)).name).toBe('first');
    } finally {
      await there.close();
    }
  }, 120_000);

  test('other programs read it as an image', async () => {
    const folder = join(here.folder, 'as-image');
    mkdirSync(folder);
    writeFileSync(join(folder, 'snapshot.tar'), await here.exported(snapshot.id));
    const os = { family: 'image', mode: 'require', reference: `oci-archive:${join(folder, 'snapshot.tar')}` } as const;
    const image = await here.images.resolve(os, { signal: never });
    expect(image.config.env).toEqual({ PATH: '/bin' });
    expect(
      shell('tar -xf snapshot.tar && ls && cat oci-layout && cd blobs/sha256 && sha256sum * | sed "s/  / /"', folder),
    ).toMatch(/^blobs\nindex.json\noci-layout\nsnapshot.tar\n\{"imageLayoutVersion":"1.0.0"\}(([0-9a-f]{64}) \2\n)+$/);
  });

  test('a compressed one is taken too', async () => {
    const copy = await here.imported(gzipSync(await here.exported(snapshot.id)));
    expect(await here.describe(copy.id)).toBe(await here.describe(snapshot.id));
  });

  test('what was changed on the way is refused, whichever byte it is, and leaves nothing', async () => {
    const there = await ContentWorld.open('overlay');
    try {
      const bytes = await here.exported(snapshot.id);
      let refused = 0;
      for (let n = 0; n < 60; n += 1) {
        const damaged = Buffer.from(bytes);
        const at = Math.floor((bytes.length * n) / 60) + 600;
        damaged[at] = (damaged[at] ?? 0) ^ 1;
        const answer = await there.imported(damaged).then(
          (copy) => there.describe(copy.id),
          (error) => {
            expect(error.code, error.message).toMatch(/^(image_invalid|image_too_large|unsupported-os)$/);
            refused += 1;
          },
        );
        // Padding between the files of the archive means nothing.
        if (answer !== undefined) expect(answer).toBe(await here.describe(snapshot.id));
      }
      expect(refused).toBeGreaterThan(30);
      for (const cut of [0, 100, 5_000, bytes.length >> 1, bytes.length - 2_000]) {
        await expect(there.imported(bytes.subarray(0, cut))).rejects.toMatchObject({ code: 'image_invalid' });
      }
      expect(readdirSync(join(there.folder, 'images', 'making'))).toEqual([]);
      const { snapshots } = await there.storage.list(never);
      const listed = await there.snapshots.list(ada, { limit: 100 }, false);
      expect([...snapshots].sort()).toEqual(listed.map(({ id }) => id).sort());
      expect(await there.store.snapshots.unfinished(10)).toEqual([]);
    } finally {
      await there.close();
    }
  }, 120_000);

  test('an upload that breaks off, and one that its client leaves, leave nothing', async () => {
    const bytes = await here.exported(snapshot.id);
    const before = await here.snapshots.list(ada, { limit: 100 }, false);
    async function* broken() {
      yield bytes.subarray(0, 50_000);
      throw new Error('gone');
    }
    await expect(here.archives.import(ada, broken(), {}, never)).rejects.toThrow('gone');
    for (const ms of [1, 5, 20, 50]) {
      const left = new AbortController();
      setTimeout(() => left.abort(new Error('left')), ms);
      async function* slow() {
        for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000);
      }
      await here.archives.import(ada, slow(), {}, left.signal).then(
        ({ id }) => here.snapshots.discard(id),
        (error) => expect(error.message).toBe('left'),
      );
    }
    expect(readdirSync(join(here.folder, 'images', 'making'))).toEqual([]);
    expect(await here.snapshots.list(ada, { limit: 100 }, false)).toEqual(before);
    expect(await here.store.snapshots.unfinished(10)).toEqual([]);
  });

  test('another tenant can neither export it nor take layers that it did not bring', async () => {
    await expect(here.exported(snapshot.id, false, eve)).rejects.toMatchObject({ code: 'snapshot_not_found' });
    const thin = await here.exported(snapshot.id, true);
    // The diff id of a layer of somebody else, and nothing that was packed from it.
    const forged = forge(thin, (manifest) => {
      for (const layer of manifest.layers.slice(0, -1)) layer.digest = sha256(Buffer.from('unknown'));
    });
    await expect(here.imported(forged, {}, eve)).rejects.toMatchObject({ code: 'image_not_found' });
  });

  test('a folder of the machine that an archive names is never shown', async () => {
    const forged = forge(await here.exported(snapshot.id), (_, record) => {
      record.binds = [{ source: '/root', target: '/secret' }];
    });
    await expect(here.imported(forged)).rejects.toMatchObject({ code: 'unsupported-os' });
    const usr = forge(await here.exported(snapshot.id), (_, record) => {
      record.binds = [{ source: '/root', target: '/usr' }];
    });
    const copy = await here.imported(usr).catch((error) => error);
    // The sample image has nothing to mount it on; what would be mounted is this machine's own.
    const image =
      copy.id && (await here.storage.view(copy.id, async (view) => view.image, never).catch(() => undefined));
    expect(JSON.stringify(image ?? {})).not.toContain('/root');
  });

  test('a record that is none, or a spec that is none, is refused', async () => {
    const bytes = await here.exported(snapshot.id);
    const lies: ((record: Record<string, unknown>) => void)[] = [
      (record) => delete record.version,
      (record) => Object.assign(record, { labels: { a: '\n' } }),
      (record) => Object.assign(record, { policy: { keepTurns: -1 } }),
    ];
    for (const lie of lies) {
      const forged = forge(bytes, (_, record) => lie(record));
      await expect(here.imported(forged)).rejects.toMatchObject({ code: 'image_invalid' });
    }
    const wrongSpec = forge(bytes, (_, record) =>
      Object.assign(record, { resolvedSpec: { runtime: { persistence: 7 } } }),
    );
    await expect(here.imported(wrongSpec)).rejects.toMatchObject({ code: 'spec_invalid' });
  });

  test('changes that lead out of their folder are refused', async () => {
    const outside = join(here.folder, 'outside');
    const evil = tarOf([{ name: 'door', type: '2', link: here.folder }, file('door/outside', 'x')]);
    const forged = forge(await here.exported(snapshot.id), (manifest, _, put) => {
      const layer = manifest.layers.at(-1);
      Object.assign(layer ?? {}, put(evil));
    });
    await expect(here.imported(forged)).rejects.toMatchObject({ code: 'image_invalid' });
    expect(existsSync(outside)).toBe(false);
  });

  test('one that is larger than a server takes is not exported, and not imported', async () => {
    const small = await ContentWorld.open('overlay', { layerBytes: 512 * 1024 });
    try {
      const sandbox = await small.sandbox();
      shell('truncate -s 1T large', sandbox.path);
      const large = await small.snapshot(sandbox);
      await expect(small.exported(large.id)).rejects.toMatchObject({ code: 'image_too_large' });
      await expect(small.imported(await here.exported(snapshot.id))).rejects.toMatchObject({ code: 'image_too_large' });
    } finally {
      await small.close();
    }
  });

  test('what a killed server was importing goes at the next pass', async () => {
    const id = (await here.snapshot(await here.sandbox())).id;
    const inputs = await here.store.snapshots.inputs(id);
    if (!inputs) throw new Error('it has none');
    const foreign = { id: id.replace(/..$/, 'zz') as never, kind: 'named', name: null, labels: {}, inputs } as const;
    const begun = { ...foreign, sandbox: snapshot.sandbox, owner: ada.owner, blueprintDigest: 'x' };
    await here.store.snapshots.beginForeign(begun);
    expect(await here.keeper.pass(never)).toMatchObject([{ did: 'reaped' }]);
    expect(await here.store.snapshots.unfinished(10)).toEqual([]);
  });
});

interface Manifest {
  layers: { digest: string; size: number }[];
  config: { digest: string; size: number };
  annotations: Record<string, string>;
}

/** The same archive with other documents, whose digests are right again. */
function forge(
  archive: Buffer,
  change: (
    manifest: Manifest,
    record: Record<string, unknown>,
    put: (content: Buffer) => { digest: string; size: number },
  ) => void,
): Buffer {
  const files = new Map<string, Buffer>();
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0; ) {
    const name = archive.toString('latin1', at, archive.indexOf(0, at));
    const size = Number.parseInt(archive.toString('latin1', at + 124, at + 135), 8);
    files.set(name, archive.subarray(at + 512, at + 512 + size));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  const put = (content: Buffer) => {
    const digest = sha256(content);
    files.set(`blobs/${digest.replace(':', '/')}`, content);
    return { digest, size: content.length };
  };
  const read = (digest: string) => JSON.parse((files.get(`blobs/${digest.replace(':', '/')}`) ?? '').toString());
  const index = JSON.parse((files.get('index.json') ?? '').toString());
  const manifest = read(index.manifests[0].digest) as Manifest;
  const config = read(manifest.config.digest);
  const record = JSON.parse(manifest.annotations['caisson.snapshot'] ?? '');
  change(manifest, record, put);
  manifest.annotations['caisson.snapshot'] = JSON.stringify(record);
  config.rootfs.diff_ids = manifest.layers.map(({ digest }) => digest);
  Object.assign(manifest.config, put(Buffer.from(JSON.stringify(config))));
  Object.assign(index.manifests[0], put(Buffer.from(JSON.stringify(manifest))));
  files.set('index.json', Buffer.from(JSON.stringify(index)));
  return tarOf([...files].map(([name, content]) => ({ name, content })));
}
