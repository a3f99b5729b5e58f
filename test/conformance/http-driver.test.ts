import { FakeBackend } from '../../packages/server/src/drivers/fake/fake-backend.ts';
import { FakeDriver } from '../../packages/server/src/drivers/fake/fake-driver.ts';
import { describeDriver } from './describe-driver.ts';
import { describeOciThroughHttp } from './describe-oci-through-http.ts';
import { httpSkips, httpWorld } from './http-world.ts';

describeDriver(
  'fake through HTTP',
  async () => {
    const backend = new FakeBackend();
    const driver = new FakeDriver({ backend });
    const world = await httpWorld({
      driver,
      name: driver.name,
      capabilities: driver.capabilities,
      remove: async (key) => backend.remove(key),
      hang: () => driver.faults.plan('create.made', { kind: 'hang' }),
    });
    const { inside: _, ...rest } = world;
    return rest;
  },
  { skip: httpSkips },
);

// Behind a server one runtime is like the other: the others are among the long ones, and each is under its driver's own test.
describeOciThroughHttp('runc');
