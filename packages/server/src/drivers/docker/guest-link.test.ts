import { CaissonError, newId } from '@caisson/contract';
import { expect, test } from 'vitest';
import { GuestLink } from './guest-link.ts';
import type { SecretFile } from './secret-file.ts';

const secrets = { read: () => undefined, write: () => {} } as unknown as SecretFile;

/** A link whose every try fails like this. */
function linkThat(failsWith: () => Error): GuestLink {
  return new GuestLink({
    key: { sandbox: newId('sandbox'), incarnation: 1 },
    secrets,
    dial: () => Promise.reject(failsWith()),
    look: () => Promise.resolve('running'),
    onEnded: () => {},
  });
}

test('who waits for a guest on an engine without room is told so, and not after all tries', async () => {
  const link = linkThat(() => new CaissonError('storage_full', 'no space left on device'));
  link.start();
  await expect(link.connected(new AbortController().signal)).rejects.toMatchObject({ code: 'storage_full' });
  await link.close();
});

test('who waits for a guest that is only late waits as long as they like', async () => {
  let tries = 0;
  const enough = new AbortController();
  const link = linkThat(() => {
    tries += 1;
    if (tries === 3) enough.abort(new Error('long enough'));
    return new CaissonError('driver_failed', 'not yet');
  });
  link.start();
  await expect(link.connected(enough.signal)).rejects.toThrow();
  expect([enough.signal.aborted, link.lastFailure]).toEqual([true, 'not yet']);
  await link.close();
});
