import { expect, test } from 'vitest';
import { networkFlagsInto } from './network-flags.ts';

test('without flags a spec stays as it was written', () => {
  expect(networkFlagsInto({ network: { mode: 'off' } }, {})).toBeUndefined();
});

test('flags become the network of the spec, beside what else it says', () => {
  const flags = { network: 'allowlist', allow: ['npm'], deny: ['a.example'], secret: ['token'] } as const;
  expect(networkFlagsInto({ persistence: 'persistent' }, flags)).toEqual({
    persistence: 'persistent',
    network: { mode: 'allowlist', allow: ['npm'], deny: ['a.example'], secrets: ['token'] },
  });
});

test('lists add to those of the spec, and a mode takes the place of its own and of the short form', () => {
  const network = { outbound: true, allow: ['pypi'], limits: { connections: 1 } };
  expect(networkFlagsInto({ network }, { allow: ['npm'] })).toEqual({
    network: { outbound: true, allow: ['pypi', 'npm'], limits: { connections: 1 } },
  });
  expect(networkFlagsInto({ network }, { network: 'off' })).toEqual({
    network: { mode: 'off', allow: ['pypi'], limits: { connections: 1 } },
  });
});
