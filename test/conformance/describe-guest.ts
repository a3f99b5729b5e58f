import type { Owner } from '@caisson/contract';
import { expect } from 'vitest';
import type { Driver, InstanceKey } from '../../packages/server/src/drivers/driver.ts';
import type { DriverUnderTest, RuntimeWish } from './describe-driver.ts';
import { type Inside, insideGuest } from './inside.ts';

/** What the laws of one suite share. */
export interface Laws {
  law(title: string, body: () => Promise<void>): void;
  open(): Promise<DriverUnderTest>;
  key(): InstanceKey;
  readonly owner: Owner;
  readonly never: AbortSignal;
}

/** The way into an instance: by the driver's own guest, or by what the one under test brings along. */
async function insideOf(made: DriverUnderTest, driver: Driver, key: InstanceKey): Promise<Inside | undefined> {
  if (made.inside) return made.inside(driver, key);
  return driver.guest && insideGuest(await driver.guest(key, new AbortController().signal));
}

/** The laws for drivers with a guest; one without says so. */
export function describeGuest({ law, open, key, owner, never }: Laws): void {
  async function launched(runtime?: RuntimeWish) {
    const made = await open();
    const wanted = key();
    const instance = await made.driver.create(await made.request(wanted, owner, runtime), never);
    return { ...made, made, wanted, instance, inside: await insideOf(made, made.driver, wanted) };
  }

  law('its guest answers and runs a command, where it has one', async () => {
    const { inside, driver } = await launched();
    if (!inside) return expect(driver.capabilities.guest).toBe(false);
    expect(await inside.run('echo out; exit 3')).toMatchObject({ exitCode: 3, stdout: 'out\n' });
  });

  law('processes survive a restart of the driver with all of their output', async () => {
    const { inside, driver, made, wanted } = await launched();
    if (!inside) return expect(driver.capabilities.guest).toBe(false);
    const process = await inside.start('for i in $(seq 1 40); do echo line $i; sleep 0.05; done');
    const again = await insideOf(made, await made.restart(), wanted);
    const lines = Array.from({ length: 40 }, (_, n) => `line ${n + 1}\n`).join('');
    expect(await again?.outputOf(process)).toBe(lines);
  });

  law('stands still as soon as it is paused, however busy it is', async () => {
    const { inside, driver, wanted } = await launched({ resources: { pids: 1_024 } });
    if (!inside || !driver.pause || !driver.resume) return;
    for (let n = 0; n < 4; n += 1) await inside.start('while :; do /bin/true; done');
    for (let round = 0; round < 10; round += 1) {
      await driver.pause(wanted, never);
      expect(await driver.inspect(wanted, never)).toEqual({ status: 'paused' });
      await driver.resume(wanted, never);
    }
    expect((await inside.run('echo here')).stdout).toBe('here\n');
  });

  law('ends what takes more memory than the instance may have, and nothing else', async () => {
    const { inside, driver, wanted } = await launched({ resources: { memoryMiB: 96 } });
    if (!inside || !driver.capabilities.limits.includes('memoryMiB')) return;
    const { stdout } = await inside.run('head -c 300000000 /dev/zero | tail -c 300000000 | wc -c');
    expect(Number(stdout)).toBeLessThan(300_000_000);
    expect(await driver.inspect(wanted, never)).toEqual({ status: 'running' });
    expect((await inside.run('echo here')).stdout).toBe('here\n');
  });

  law('refuses more processes than the instance may have, and goes on', async () => {
    const { inside, driver, wanted } = await launched({ resources: { pids: 32 } });
    if (!inside || !driver.capabilities.limits.includes('pids')) return;
    const many = await inside.run('for i in $(seq 1 64); do sleep 1 & done; wait');
    expect(many.exitCode).not.toBe(0);
    // The last of them end by themselves.
    await inside.run('exec sleep 1.2').catch(() => new Promise((resolve) => setTimeout(resolve, 1_500)));
    expect(await driver.inspect(wanted, never)).toEqual({ status: 'running' });
    expect((await inside.run('echo here')).stdout).toBe('here\n');
  });

  law('makes all but the workspace and some memory read-only when it is asked to, where it can', async () => {
    const made = await open();
    if (made.driver.capabilities.readOnlyRoot !== true || !made.driver.capabilities.guest) return;
    const wanted = key();
    await made.driver.create(await made.request(wanted, owner, { readOnlyRoot: true }), never);
    const inside = await insideOf(made, made.driver, wanted);
    const tries =
      'for d in / /etc /usr /var /home; do touch $d/x 2>/dev/null && echo wrote $d; done; chmod 777 / && echo changed';
    expect((await inside?.run(tries, 'root'))?.stdout).toBe('');
    const writes = 'for d in /workspace /tmp /var/tmp /run /root; do echo $d > $d/x && cat $d/x; done';
    expect((await inside?.run(writes, 'root'))?.stdout).toBe('/workspace\n/tmp\n/var/tmp\n/run\n/root\n');
    expect((await inside?.run('touch /tmp/y && echo $?'))?.stdout).toBe('0\n');
  });

  law('shows as many processors as the instance may use', async () => {
    const { inside, driver } = await launched({ resources: { cpus: 1 } });
    if (!inside || !driver.capabilities.limits.includes('cpus')) return;
    expect((await inside.run('nproc')).stdout).toBe('1\n');
  });

  law('says in its notices which network mode was not honoured', async () => {
    const { instance, driver } = await launched({ network: { mode: 'open' } });
    const honoured = driver.capabilities.networkModes.includes('open');
    expect(instance.notices.some((notice) => /network mode open/.test(notice))).toBe(!honoured);
  });
}
