import { expect, test } from 'vitest';
import { proxyPorts } from '../../packages/server/src/network/proxy-ports.ts';
import { slowness } from '../slowness.ts';
import { held } from './attack-world.ts';
import type { Stage } from './describe-network-attacks.ts';

const { http, socks } = proxyPorts;
const users = ['user', 'root'] as const;

/** Past the proxy, or in its place. */
export function attackPast({ world, sandbox, mayEndGuest, guestSocket }: Stage): void {
  const run = async (command: string, user = 'root') =>
    (await sandbox().exec(['sh', '-c', command], { user })).stdout.trimEnd().split('\n');

  test.each(users)('raw IP, IPv6 and DNS over UDP and TCP have no route, for %s', async (user) => {
    const outside = ['192.0.2.1 53', '203.0.113.80 80', '169.254.169.254 80', '2606:4700::1111 443', 'ff02::1 53'];
    const datagrams = await run(`/tmp/reach udp ${outside.join(' ')} 255.255.255.255 53`, user);
    const connections = await run(`/tmp/reach tcp ${outside.join(' ')} ::1 ${world.outside.port}`, user);
    const all = [...datagrams, ...connections];
    expect(all).toHaveLength(12);
    expect(all.filter((line) => !/ \d+$/.test(line))).toEqual([]);
    expect(world.outside.heard).toBe('');
  });

  test.each(users)('what listens on the host cannot be reached on loopback, by %s', async (user) => {
    const { port } = new URL(world.url);
    const lines = await run(`/tmp/reach tcp 127.0.0.1 ${port} 127.0.0.1 ${world.outside.port} ::1 ${port}`, user);
    expect(lines.filter((line) => !/ \d+$/.test(line))).toEqual([]);
  });

  test.each(users)('AF_VSOCK, AF_PACKET and raw sockets are not to be had, by %s', async (user) => {
    const names =
      'socket-vsock socket-packet socket-raw-icmp socket-raw-all socket-raw-six socket-xdp socket-high-bits';
    const lines = await run(`/tmp/try-call ${names}`, user);
    expect(lines).toHaveLength(7);
    expect(lines.filter((line) => !/ \d+$/.test(line) || line.endsWith(' 9999'))).toEqual([]);
  });

  test('a name is looked up by nobody inside: no resolver answers, and ours is not asked', async () => {
    const lines = await run('getent hosts secret.ok.test; getent hosts ok.test; echo end');
    expect(lines).toEqual(['end']);
    expect(world.asked).toEqual([]);
  });

  test.each(users)('the ports of the proxy cannot be taken over, by %s', async (user) => {
    const own = [http, socks].map((port) => `127.0.0.1 ${port}`);
    const around = [http, socks].flatMap((port) => [`0.0.0.0 ${port}`, `::ffff:127.0.0.1 ${port}`, `:: ${port}`]);
    const places = [...own, ...around];
    const log = `/tmp/taken-${user}`;
    await sandbox().processes.start(['sh', '-c', `exec /tmp/reach hold ${places.join(' ')} > ${log}`], { user });
    const tries = () => run(`cat ${log}`);
    await expect.poll(async () => (await tries()).length).toBe(places.length);
    const said = await tries();
    const inUse = 98;
    for (const place of own) expect(said).toContain(`hold ${place} ${inUse}`);
    // Some kernels give out what lies around it; it leads nobody there.
    expect(await world.rulesHold(sandbox())).toEqual(held);
    await run('pkill -9 reach');
  });

  test('who ends every process inside has not ended the proxy alone, nor its rules', async () => {
    const one = await world.sandbox();
    await one.exec(['sh', '-c', 'kill -9 -1; kill -9 1'], { user: 'root' }).catch(() => {});
    if (mayEndGuest) await expect.poll(async () => (await one.refresh()).record.state).toBe('failed');
    else expect(await world.rulesHold(one)).toEqual(held);
    await one.destroy();
  });

  test("the server's socket is not inside, and no socket without a path leads out", async () => {
    const found = await run(
      'find /run /var /tmp /dev /home /workspace -name server.sock 2>/dev/null; cat /proc/net/unix 2>/dev/null; echo end',
    );
    const others = found.filter((line) => guestSocket === undefined || !line.endsWith(` @${guestSocket}`));
    expect(others.filter((line) => line.includes('server.sock') || / @/.test(line))).toEqual([]);
    expect(found.at(-1)).toBe('end');
  });

  test('root and the user are held to the same rules', async () => {
    for (const user of users) {
      expect((await world.fetch(sandbox(), `http://${world.ok}/`, user)).status).toBe(200);
      expect((await world.fetch(sandbox(), `http://bad.test:${world.outside.port}/`, user)).text).toMatch(
        /not_allowed/,
      );
    }
  });

  test('a sandbox whose network is off has no listener', async () => {
    const off = await world.sandbox({ mode: 'off', allow: [] });
    for (const port of [http, socks])
      await expect(off.ports.connect(port)).rejects.toMatchObject({ code: expect.stringMatching(/port/) });
    expect(await off.ports.list()).toEqual([]);
    await off.destroy();
  });

  test('a flood of half-open connections takes the places of its own sandbox alone', { timeout: 120_000 }, async () => {
    const [flooding, other] = await Promise.all([world.sandbox(), world.sandbox()]);
    await flooding.files.write('/tmp/reach', await sandbox().files.read('/tmp/reach'), { mode: 0o755 });
    const flood = await flooding.processes.start(['/tmp/reach', 'flood', '700', '127.0.0.1', String(http)]);
    const refused = async () => (await world.journal(flooding)).some(({ why }) => why === 'connection_limit');
    await expect.poll(refused, { timeout: 20_000 * slowness }).toBe(true);
    expect(await world.fetch(other, `http://${world.ok}/`)).toMatchObject({ status: 200 });
    expect((await fetch(`${world.url}/healthz`)).status).toBe(200);
    expect((await flooding.exec(['echo', 'well'])).stdout).toBe('well\n');
    await flood.signal('SIGKILL');
    // Its places are free again when they are closed.
    await expect
      .poll(async () => (await world.fetch(flooding, `http://${world.ok}/`)).status, { timeout: 20_000 * slowness })
      .toBe(200);
    await Promise.all([flooding.destroy(), other.destroy()]);
  });
}
