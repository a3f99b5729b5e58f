import { expect, test } from 'vitest';
import { defaultBounds } from '../../bounds.ts';
import { Packer } from '../../pack/packer.ts';
import { DaemonPlace } from './daemon-place.ts';

test('a buildkitd is given no base of several layers', async () => {
  const place = new DaemonPlace({ kind: 'unix', path: '/nowhere' }, new Packer('/nowhere', defaultBounds));
  const base = { digest: 'sha256:0', name: 'two', layers: ['/a', '/b'], config: { env: {} }, notices: [] };
  await expect(place.bring(base, AbortSignal.timeout(1_000))).rejects.toMatchObject({
    code: 'unsupported-runtime-requirement',
    message: expect.stringContaining('2 layers'),
  });
});
