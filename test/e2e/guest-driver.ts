import { join } from 'node:path';
import { CaissonError } from '@caisson/contract';
import type { GuestClient } from '@caisson/guest';
import { type StartedGuest, startGuest } from '../../packages/guest/testing/start-guest.ts';
import type { Capabilities, CreateRequest, Instance, InstanceKey } from '../../packages/server/src/drivers/driver.ts';
import { FakeBackend } from '../../packages/server/src/drivers/fake/fake-backend.ts';
import { FakeDriver } from '../../packages/server/src/drivers/fake/fake-driver.ts';

const arch = process.arch === 'arm64' ? 'arm64' : 'x64';
const binary = join(import.meta.dirname, '..', '..', 'packages', 'guest', 'dist', 'native', arch, 'caisson-guest');

/** The fake driver with a real guest in each instance: on the files of this machine, with processes of its own. */
export class GuestDriver extends FakeDriver {
  override readonly capabilities: Capabilities = {
    ...new FakeDriver().capabilities,
    guest: true,
    // Its guests share the ports of this machine.
    networkModes: ['off'],
  };
  readonly #guests = new Map<string, StartedGuest>();

  override async create(request: CreateRequest, signal: AbortSignal): Promise<Instance> {
    const instance = await super.create(request, signal);
    const name = FakeBackend.nameOf(request.key);
    if (!this.#guests.has(name)) this.#guests.set(name, await startGuest({ binary }));
    return instance;
  }

  override async destroy(key: InstanceKey, signal: AbortSignal): Promise<void> {
    await super.destroy(key, signal);
    const name = FakeBackend.nameOf(key);
    const guest = this.#guests.get(name);
    this.#guests.delete(name);
    await guest?.stop();
  }

  async guest(key: InstanceKey): Promise<GuestClient> {
    return this.started(key).client;
  }

  started(key: InstanceKey): StartedGuest {
    const guest = this.#guests.get(FakeBackend.nameOf(key));
    if (guest === undefined) throw new CaissonError('instance_lost');
    return guest;
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.#guests.values()].map((guest) => guest.stop()));
    this.#guests.clear();
  }
}
