import { newId, type Sandbox } from '@caisson/contract';
import { expect, test } from 'vitest';
import type { PortShare } from '../store/shared-ports.ts';
import type { Keys } from '../tenancy/keys.ts';
import { Access } from './access.ts';
import { PreviewAddresses } from './preview-address.ts';
import { tokenHash } from './shared-ports.ts';
import { PassSigner } from './signed-pass.ts';

const sandbox = newId('sandbox');
const target = { sandbox, port: 3000, prefix: '', domain: undefined };
const share: PortShare = {
  ...{ port: 3000, share: 'one', visibility: 'private', hostHeader: 'port', openedAt: 0 },
  tokenHash: tokenHash('right'),
};
const known = { sandbox: { id: sandbox } as Sandbox, share };

test('many who guess at one port keep nobody out who has its token or a link', async () => {
  const signer = new PassSigner(() => Buffer.alloc(32, 1));
  const access = new Access(signer, {} as Keys, new PreviewAddresses([]));
  const judge = (token: string, address: string, url = '/') =>
    access.judge(target, known, { headers: { 'x-caisson-preview-token': token }, url, method: 'GET' }, address);
  const verdicts = await Promise.all(Array.from({ length: 400 }, (_, n) => judge(`wrong-${n}`, `address-${n}`)));
  expect(verdicts.at(0)).toEqual({ kind: 'refused' });
  expect(verdicts.at(-1)).toEqual({ kind: 'wait' });
  expect(await judge('right', 'mine')).toEqual({ kind: 'in' });
  const link = signer.sign('link', { sandbox, port: 3000, share: 'one' }, Date.now() / 1000 + 60);
  expect(await judge('', 'mine', `/?caisson-link=${link}`)).toMatchObject({ kind: 'enter' });
});
