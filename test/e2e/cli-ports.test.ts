import type { ListedPort, OpenedPort, PortLink } from '@caisson/contract';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { skip } from '../conformance/skips.ts';
import { previewApp } from '../network/preview-app.ts';
import { visit } from '../network/visit.ts';
import { CliWorld } from './cli-world.ts';

const isRoot = process.getuid?.() === 0;
const env = { CAISSON_DRIVERS: 'oci' };
const spec = 'source: {kind: none}\nos: host\nruntime: {network: {mode: off}}\n';

describe('ports on the command line', () => {
  const world = new CliWorld();
  const run = (...args: string[]) => world.run(args, { env });

  beforeAll(async () => {
    if (!isRoot) return;
    const server = world.start(['serve', '--listen', '127.0.0.1:0', '--destroy-on-exit'], { env });
    await server.until(/listening on http:/);
    const made = await world.run(['create', '--spec', '-', '--name', 'web'], { env, stdin: spec });
    if (made.code !== 0) throw new Error(made.err);
    const script = `cat > /tmp/app.js; node /tmp/app.js > /dev/null 2>&1 &`;
    await world.run(['exec', 'web', '--', 'sh', '-c', script], { env, stdin: previewApp });
  }, 120_000);
  afterAll(async () => {
    if (isRoot) {
      await run('destroy', 'web');
      await run('stop-server');
    }
    await world.close();
  }, 120_000);
  beforeEach((context) => {
    if (!isRoot) skip(context, 'a real sandbox needs root');
  });

  test('a port is waited for, opened, linked, listed and closed', async () => {
    expect((await run('port', 'wait', 'web', '3000', '--timeout', '30s')).out).toBe('port 3000 listens\n');
    const opened = await world.json<OpenedPort>(['port', 'open', 'web', '3000'], env);
    expect(opened).toMatchObject({ port: 3000, visibility: 'private', token: expect.any(String) });
    const page = await visit({ url: opened.url ?? '', headers: { 'x-caisson-preview-token': opened.token ?? '' } });
    expect(page.text).toBe('page /');
    const link = await world.json<PortLink>(['port', 'link', 'web', '3000', '--expires', '1m'], env);
    expect((await visit({ url: link.url ?? '' })).status).toBe(303);
    const { items } = await world.json<{ items: ListedPort[] }>(['port', 'list', 'web'], env);
    expect(items[0]).toMatchObject({ port: 3000, share: { visibility: 'private' } });
    expect((await run('port', 'list', 'web')).out).toMatch(/^3000 +\S+ +\S+ +token, link +http/m);
    expect((await run('port', 'close', 'web', '3000')).out).toBe('closed 3000\n');
    expect((await run('port', 'link', 'web', '3000')).err).toContain('port_not_open');
    expect((await visit({ url: link.url ?? '' })).status).toBe(401);
  });

  test('a wait that is in vain ends with the code of a timeout', async () => {
    expect(await run('port', 'wait', 'web', '3999', '--timeout', '0.1')).toMatchObject({ code: 75, out: '' });
  });

  test.each([['0'], ['65536'], ['x'], ['1:2:3']])('%s is no port', async (text) => {
    expect((await run('port', 'forward', 'web', text)).code).toBe(64);
  });

  test('a local port leads inside until Ctrl-C', async () => {
    const forward = world.start(['port', 'forward', 'web', '0:3000'], { env });
    const [, local] = await forward.until(/^(127\.0\.0\.1:\d+) leads to port 3000 of web/);
    expect(await (await fetch(`http://${local}/inside`)).text()).toBe('page /inside');
    forward.child.kill('SIGINT');
    expect((await forward.done).code).toBe(0);
  });
});
